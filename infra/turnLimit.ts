/** Long work on the event loop is done in short turns, so that other requests are served between them (bench `stalls`). */
import { setImmediate as nextTurn } from 'node:timers/promises';

const MAX_TURN_MS = 4;

/** Called between the steps of the work: undefined while the turn may go on, else the wait for the next one. */
export type TurnLimit = () => Promise<void> | undefined;

export function createTurnLimit(): TurnLimit {
  let beganAt = performance.now();
  const takeNext = async () => {
    await nextTurn();
    beganAt = performance.now();
  };
  return () => (performance.now() - beganAt < MAX_TURN_MS ? undefined : takeNext());
}
