/** Everything that this supervisor started, and the order in which it stops. */
import type { Supervised } from './supervise.ts';

export interface Running {
  add(supervised: Supervised): void;
  /** Process ids by name, of those that run now. */
  processes(): Record<string, number>;
  /** Those who take work first, then what they work with, the database last. Each has its own deadline. */
  stopAll(): Promise<void>;
}

const STOP_ORDER = [
  ['api', 'worker'],
  ['facilitator', 'temporal', 'redis', 's3'],
  ['chain', 'postgres'],
];

export function createRunning(): Running {
  const all = new Map<string, Supervised>();
  return {
    add(supervised) {
      all.set(supervised.name, supervised);
    },
    processes() {
      const known = [...all.values()].flatMap(({ name, pid }) => {
        const id = pid();
        return id === undefined ? [] : [[name, id] as const];
      });
      return Object.fromEntries(known);
    },
    async stopAll() {
      for (const names of STOP_ORDER) {
        await Promise.all(names.map((name) => all.get(name)?.stop()));
      }
    },
  };
}
