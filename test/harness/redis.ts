/** A Redis of a test's own, which it kills and brings back at the same address. */
import { randomBytes } from 'node:crypto';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { locateParts } from '../../dev/stack/locate.ts';
import { redisProcess, redisUrl } from '../../dev/stack/parts/redis.ts';
import { silentProgress } from '../../dev/stack/progress.ts';
import { supervise } from '../../dev/stack/supervise.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

export interface MortalRedis {
  url: string;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Empty, as after every loss. */
  start(): Promise<void>;
  /** SIGSTOP: connections stay, answers do not come. */
  stall(): void;
  goOn(): void;
}

/** `folder` is made by this; the end of the test run stops what lives in it. */
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
