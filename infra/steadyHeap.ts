/**
 * Keeps the resident memory of a long-lived process steady, and garbage collection from delaying requests. This is the
 * first import of an entry point, so that collections during its start are covered. V8 reads these flags at each use,
 * so they may be set while it runs.
 *
 * V8 learns that rows of a query often outlive a few collections. It then allocates all of them in the old space, where
 * each stays, with its strings, until the next full collection. It also lets the old space grow to four times the live
 * size before that. An API with 40 MB of live objects therefore used between 160 and 260 MB. Benches `memory` and
 * `jobs`.
 */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--no-allocation-site-pretenuring');
setFlagsFromString('--heap-growing-percent=55');

/** Node starts V8's threads first: one for delayed tasks, and the four of the pool. */
const V8_THREADS = 5;
/** A share of 3 % beside a busy thread; the whole core beside a waiting one. */
const NICENESS = 15;

/**
 * Lowers the priority of V8's threads. On a single core up to three of them mark the heap beside the main thread, each
 * with an equal share: every stream stands still for a tenth of a second. With low priority they use idle time, and the
 * main thread does the rest of their work in small steps. When it waits for them, they have the core. Only Linux has a
 * priority per thread; elsewhere, or without the permission, nothing changes. Bench `chat`.
 */
function collectBehindTheLoop(): void {
  if (process.platform !== 'linux') return;
  try {
    const threads = readdirSync('/proc/self/task').map(Number);
    const others = threads.filter((id) => id !== process.pid).sort((a, b) => a - b);
    for (const id of others.slice(0, V8_THREADS)) setPriority(id, NICENESS);
  } catch {
    // Optional: without it the process is only slower.
  }
}

collectBehindTheLoop();
