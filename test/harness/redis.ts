/** Redis for one test, which can kill and restart it at the same address. */
import { randomBytes } from 'node:crypto';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { locateParts } from '../../dev/stack/locate.ts';
import { redisProcess, redisUrl } from '../../dev/stack/parts/redis.ts';
import { silentProgress } from '../../dev/stack/progress.ts';
import { supervise } from '../../dev/stack/supervise.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

export interface MortalRedis {
  url: string;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
  /** Starts it empty. */
  start(): Promise<void>;
  /** Sends SIGSTOP: connections stay open without replies. */
  stall(): void;
  goOn(): void;
}

/** Creates `folder`. The end of the test run stops processes in it. */
export async function startRedis(folder: string): Promise<MortalRedis> {
  const { redis: program } = await locateParts(['redis'], {
    environment: processEnvironment(),
    progress: silentProgress,
  });
  const [port = 0] = await freePorts(1);
  const password = randomBytes(12).toString('hex');
  const part = { ...redisProcess({ program, folder, port, password }), name: 'mortal-redis' };
  let server = await supervise(part, { folder });
  const signal = (name: NodeJS.Signals) => {
    const pid = server.pid();
    if (pid !== undefined) process.kill(pid, name);
  };
  return {
    url: redisUrl({ port, password }),
    async kill() {
      signal('SIGKILL');
      await server.stop();
    },
    async start() {
      server = await supervise(part, { folder });
    },
    stall: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
  };
}
