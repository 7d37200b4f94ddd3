/** Runs before each test file. */
import { expect } from 'vitest';

const ADDED = Symbol.for('farebox.equalityTesters');
const worker = globalThis as { [ADDED]?: true };

// By themselves the matchers compare buffers member by member: three megabytes take eight seconds. Files share a worker.
if (!worker[ADDED]) {
  worker[ADDED] = true;
  expect.addEqualityTesters([
    (one: unknown, other: unknown) => (Buffer.isBuffer(one) && Buffer.isBuffer(other) ? one.equals(other) : undefined),
  ]);
}
