/** Plays cases side by side: each world plays one after the other, since most of a case is waiting for timeouts. */
import type { KillCase } from './cases.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';
import { runCase } from './runCase.ts';

interface Outcome {
  /** Objects that only the sweep removed. */
  swept: number;
  seconds: number;
}

export interface Played {
  outcome(each: KillCase): Promise<Outcome>;
  /** When every world is done: the operator's own check of each world's books. */
  checks: Promise<{ code: number; text: string }[]>;
}

interface Deferred {
  promise: Promise<Outcome>;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** Starts at once; each of `stages` is a list of cases, the configuration they need, and how many worlds share them. */
export function playCases(stages: readonly { cases: readonly KillCase[]; config: object; worlds: number }[]): Played {
  const deferred = new Map<KillCase, Deferred>();
  for (const each of stages.flatMap((stage) => stage.cases)) deferred.set(each, defer());
  const runs = stages.flatMap(({ cases, config, worlds }) => {
    const queue = [...cases];
    return Array.from({ length: worlds }, () => playQueue(queue, config, deferred));
  });
  const checks = Promise.all(runs);
  // Told by the tests that wait for it.
  checks.catch(() => undefined);
  return {
    checks,
    async outcome(each) {
      const own = deferred.get(each);
      if (!own) throw new Error(`not played: ${each.title}`);
      // A world that could not be opened or mended plays no more.
      const broken = checks.then(() => own.promise);
      return await Promise.race([own.promise, broken]);
    },
  };
}

function defer(): Deferred {
  const made: Partial<Deferred> = {};
  made.promise = new Promise<Outcome>((resolve, reject) => {
    made.resolve = resolve;
    made.reject = reject;
  });
  made.promise.catch(() => undefined);
  return made as Deferred;
}

async function playQueue(
  queue: KillCase[],
  config: object,
  deferred: Map<KillCase, Deferred>,
): Promise<{ code: number; text: string }> {
  const world = await openInTurn(config);
  try {
    for (let each = queue.shift(); each; each = queue.shift()) {
      const startedAt = Date.now();
      try {
        const { swept } = await runCase(world, each);
        deferred.get(each)?.resolve({ swept, seconds: (Date.now() - startedAt) / 1_000 });
      } catch (error) {
        deferred.get(each)?.reject(withLogs(error, world));
        await mend(world);
      }
    }
    return await world.ledgerCheck();
  } finally {
    await world.close();
  }
}

// Each process that a test starts is killed at our own exit; these are more than the dozen that Node expects.
process.setMaxListeners(100);

let lastOpened: Promise<unknown> = Promise.resolve();

/** One after the other: seven that open at once only wait for each other, past their deadlines. */
function openInTurn(config: object): Promise<KillWorld> {
  const world = lastOpened.then(() => openKillWorld(config));
  lastOpened = world.catch(() => undefined);
  return world;
}

/** After a case that went wrong nobody knows which process lives, and what it is armed with. */
async function mend(world: KillWorld): Promise<void> {
  await Promise.all([world.api.kill(), world.worker.kill()]);
  await Promise.all([world.api.respawn(), world.worker.respawn()]);
}

function withLogs(error: unknown, world: KillWorld): Error {
  const end = (text: string) => text.slice(-2_500);
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Error(`${words}\n--- api\n${end(world.api.logs())}\n--- worker\n${end(world.worker.logs())}`);
}
