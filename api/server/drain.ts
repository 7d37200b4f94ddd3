/** Ends a server without cutting an answer: no new connections, the last answers on the open ones, then the end. */
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InFlight } from './inFlight.ts';

/** A request that was already in transit on an idle connection is answered, with `Connection: close`. */
const IDLE_GRACE_MS = 1_000;

/** Share of the time after which streamed answers end with what they have. */
const UNTIL_ENDING = 2 / 3;
/** Longer than an upstream call and its settlement take after the connection was cut. */
const MAX_SETTLE_MS = 10_000;

/** Resolves to whether all work in flight ended before `deadlineMs`. */
export async function drain(server: Server, inFlight: InFlight, deadlineMs: number): Promise<boolean> {
  // `http.Server.close` would reset idle connections at once, on which a request may be in transit.
  NetServer.prototype.close.call(server);
  const drained = inFlight.drain();
  const ending = setTimeout(() => inFlight.end(), deadlineMs * UNTIL_ENDING);
  const finished = await Promise.race([
    Promise.all([drained, sleep(IDLE_GRACE_MS)]).then(() => settle(server, inFlight)),
    sleep(deadlineMs, false, { ref: false }),
  ]);
  clearTimeout(ending);
  inFlight.cut();
  server.closeAllConnections();
  return finished;
}

/** After `drain`: waits until cut requests are settled or released, before the ledger closes. */
export async function waitForCutRequests(inFlight: InFlight): Promise<void> {
  await Promise.race([inFlight.drain(), sleep(MAX_SETTLE_MS, undefined, { ref: false })]);
}

/** Another request may have arrived during the grace period. */
async function settle(server: Server, inFlight: InFlight): Promise<true> {
  server.closeIdleConnections();
  while (inFlight.count > 0) {
    await inFlight.drain();
    server.closeIdleConnections();
  }
  return true;
}
