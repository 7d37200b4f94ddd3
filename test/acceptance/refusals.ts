/** One bad request after the other: the documented answer each time, and an event loop that goes on. */
import { expect } from 'vitest';
import type { Reply } from './client.ts';
import type { Stall } from './untouched.ts';

/** The meter itself looks every 10 ms. */
export const LONGEST_STALL_MS = 50 + 10;
const ATTEMPTS = 3;

/** What the event loop stood still by its own doing: a busy machine stops it too, for as long as it waits for a core. */
export function ownMs({ longestMs, waitedMs }: Stall): number {
  return longestMs - waitedMs;
}

export interface Refusal {
  status: number;
  /** A part of the body that must be there. */
  body: unknown;
}

/** A pause of the collector comes once; what a request causes comes back each time it is sent. */
export async function expectRefused(
  readStall: () => Promise<Stall>,
  send: () => Promise<Reply>,
  expected: Refusal,
): Promise<void> {
  let stallMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && stallMs > LONGEST_STALL_MS; attempt += 1) {
    await readStall();
    const reply = await send();
    stallMs = Math.min(stallMs, ownMs(await readStall()));
    expect({ status: reply.status, body: reply.body }).toMatchObject(expected);
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
  }
  expect(stallMs, 'event-loop stall in ms').toBeLessThan(LONGEST_STALL_MS);
}
