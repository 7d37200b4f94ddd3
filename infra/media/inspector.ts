/** What the bytes of a file say it is, found out in a child process. */
import { type ChildAnswer, createChildPool } from './childPool.ts';
import type { Inspection } from './inspectFile.ts';
import { shippedChild } from './keptChild.ts';

export interface InspectorOptions {
  /** The compiled child; the shipped one by default. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
}

export interface Inspector {
  /** Undefined: the file could not be parsed within the limits. Throws when no child starts, which is no file's fault. */
  inspect(path: string): Promise<Inspection | undefined>;
  close(): void;
}

interface Answer extends ChildAnswer {
  inspection?: Inspection;
}

const LIMITS = { heapMb: 256, cpuSeconds: 300, filesPerChild: 1_000, maxWaiting: 1_000 };

export function createInspector(options: InspectorOptions = {}): Inspector {
  const { childPath = shippedChild('media/inspectChild'), maxChildren = 2, timeoutMs = 5_000 } = options;
  const pool = createChildPool<{ path: string }, Answer>({
    ...LIMITS,
    path: childPath,
    name: 'inspection',
    maxChildren,
    timeoutMs,
  });
  return {
    async inspect(path) {
      return (await pool.ask({ path }))?.inspection;
    },
    close() {
      pool.close();
    },
  };
}
