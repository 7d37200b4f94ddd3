/** One bad request after the other: the documented answer each time, and an event loop that goes on. */
import { expect } from 'vitest';
import { MAX_TURN_MS } from '../harness/stall.ts';
import type { Reply } from './client.ts';
import type { StallReport } from './stallReports.ts';

const ATTEMPTS = 3;

export interface Refusal {
  status: number;
  /** A part of the body that must be there. */
  body: unknown;
}

/** A pause of the collector comes once; what a request causes comes back each time it is sent. */
export async function expectRefused(
  readStall: () => Promise<StallReport>,
  send: () => Promise<Reply>,
  expected: Refusal,
): Promise<void> {
  let stallMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && stallMs > MAX_TURN_MS; attempt += 1) {
    await readStall();
    const reply = await send();
    stallMs = Math.min(stallMs, (await readStall()).longestMs);
    expect({ status: reply.status, body: reply.body }).toMatchObject(expected);
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
  }
  expect(stallMs, 'event-loop stall in ms').toBeLessThan(MAX_TURN_MS);
}
