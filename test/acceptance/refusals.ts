/** Sends a bad request and expects the documented answer and a responsive event loop. */
import { expect } from 'vitest';
import { MAX_TURN_MS } from '../harness/stall.ts';
import type { Reply } from './client.ts';
import type { StallReport } from './stallReports.ts';

const ATTEMPTS = 3;

export interface Refusal {
  status: number;
  /** Required part of the body. */
  body: unknown;
}

/** Repeats after a stall: a garbage collection occurs once, a stall by the request each time. */
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
