/**
 * Keeps the resident memory of a long-lived process steady, and its collections out of the way; the first import of an entry
 * point, so that the collections during its start already go by it. The flags are ones that V8 looks at whenever it uses
 * them, so they may be set while it runs.
 *
 * V8 learns that rows of a query often outlive a few collections and then makes all of them in the old space, where each of
 * them stays, with all its strings, until the next full collection. And it lets the old space grow to four times of what
 * lived before it makes one. An API of 40 MB of living objects came to anything between 160 and 260 MB by that. Benches
 * `memory` and `jobs`.
 */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--no-allocation-site-pretenuring');
setFlagsFromString('--heap-growing-percent=55');

/** Node starts V8's threads before all others: the one that keeps their clock, and the four of its pool. */
const V8_THREADS = 5;
/** A share of 3 % against a thread that is busy; all of the core against one that waits. */
const NICENESS = 15;

/**
 * Where a process has one core, up to three of V8's threads mark the heap beside the thread that serves, and each would get
 * as much of the core as it does: for a tenth of a second every stream stands still. Behind it they take what it leaves, and
 * where they do not come through, it does their work in small steps. When it waits for them, the core is theirs. Only Linux
 * has a priority for each thread; elsewhere, and where it is not granted, all goes on as it was. Bench `chat`.
 */
function collectBehindTheLoop(): void {
  if (process.platform !== 'linux') return;
  try {
    const threads = readdirSync('/proc/self/task').map(Number);
    const others = threads.filter((id) => id !== process.pid).sort((a, b) => a - b);
    for (const id of others.slice(0, V8_THREADS)) setPriority(id, NICENESS);
  } catch {
    // Quicker answers are no condition for answers.
  }
}

collectBehindTheLoop();
