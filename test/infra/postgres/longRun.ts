import { processEnvironment } from '../../../infra/config/environment.ts';

/** Number of repetitions: moderate by default, full in a long run. */
export function longRun(moderate: number, full: number): number {
  return processEnvironment().FAREBOX_TEST_LONG === '1' ? full : moderate;
}
