/** Chooses one temperature for services without a temperature range. */
import type { Sampling } from '../../domain/text/chat.ts';

/** Default of the services. */
const USUAL = 1;

/** Returns a value within `min_temp` and `max_temp`; undefined: the service's default. */
export function temperatureWithin({ temperature, min_temp, max_temp }: Sampling): number | undefined {
  if (min_temp === undefined && max_temp === undefined) return temperature;
  return Math.min(Math.max(temperature ?? USUAL, min_temp ?? 0), max_temp ?? Number.POSITIVE_INFINITY);
}
