import { processEnvironment } from '../../../infra/config/environment.ts';

/** The count of a test: moderate by default, the full one in a long run. */
export function longRun(moderate: number, full: number): number {
  return processEnvironment().FAREBOX_TEST_LONG === '1' ? full : moderate;
}
