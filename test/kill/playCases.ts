/** Plays cases in several worlds at once. Most of a case is waiting for timeouts. */
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
  /** Resolves when every world is done, with the operator's ledger check of each. */
  checks: Promise<{ code: number; text: string }[]>;
}

interface Deferred {
  promise: Promise<Outcome>;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** Starts at once. Each stage has cases, their configuration, and the number of worlds that share them. */
export function playCases(stages: readonly { cases: readonly KillCase[]; config: object; worlds: number }[]): Played {
  const deferred = new Map<KillCase, Deferred>();
  for (const each of stages.flatMap((stage) => stage.cases)) deferred.set(each, defer());
  const runs = stages.flatMap(({ cases, config, worlds }) => {
    const queue = [...cases];
    return Array.from({ length: worlds }, () => playQueue(queue, config, deferred));
  });
  const checks = Promise.all(runs);
  // The tests that await it report the error.
  checks.catch(() => undefined);
  return {
    checks,
    async outcome(each) {
      const own = deferred.get(each);
      if (!own) throw new Error(`not played: ${each.title}`);
      // A world that failed to open or restart plays no more cases.
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

// Each spawned process adds an exit listener. Node warns from the eleventh on.
process.setMaxListeners(100);

let lastOpened: Promise<unknown> = Promise.resolve();

/** Opens worlds one after the other. Seven at once delay each other past their deadlines. */
function openInTurn(config: object): Promise<KillWorld> {
  const world = lastOpened.then(() => openKillWorld(config));
  lastOpened = world.catch(() => undefined);
  return world;
}

/** Restarts both processes: after a failed case it is unknown which runs and what it is armed with. */
async function mend(world: KillWorld): Promise<void> {
  await Promise.all([world.api.kill(), world.worker.kill()]);
  await Promise.all([world.api.respawn(), world.worker.respawn()]);
}

function withLogs(error: unknown, world: KillWorld): Error {
  const end = (text: string) => text.slice(-2_500);
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Error(`${words}\n--- api\n${end(world.api.logs())}\n--- worker\n${end(world.worker.logs())}`);
}
