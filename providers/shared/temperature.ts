/** One temperature for services that know no bounds of one that moves. */
import type { Sampling } from '../../domain/text/chat.ts';

/** What services take when nothing is said. */
const USUAL = 1;

/** Within `min_temp` and `max_temp`; undefined: the service's own default. */
export function temperatureWithin({ temperature, min_temp, max_temp }: Sampling): number | undefined {
  if (min_temp === undefined && max_temp === undefined) return temperature;
  return Math.min(Math.max(temperature ?? USUAL, min_temp ?? 0), max_temp ?? Number.POSITIVE_INFINITY);
}
