/** Redis, for limits and short-lived caches only: nothing is stored on disk. */
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';

export interface RedisOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  /** Letters and digits. Needed because other users of the machine can reach the port. */
  password: string;
  /** Number of databases. Default: 16. */
  databases?: number;
}

export function redisUrl({ port, password }: Pick<RedisOptions, 'port' | 'password'>): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

export function redisProcess(options: RedisOptions): PartProcess {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  // The password is in a file, because command lines are readable by all users of the machine.
  const file = path.join(options.folder, 'redis.conf');
  writeFileSync(file, `requirepass ${options.password}\n`, { mode: 0o600 });
  const databases = options.databases === undefined ? [] : ['--databases', String(options.databases)];
  const listen = ['--port', String(options.port), '--bind', '127.0.0.1'];
  return {
    name: 'redis',
    command: options.program.path,
    args: [file, ...listen, '--save', '', '--appendonly', 'no', '--dir', options.folder, ...databases],
    env: partEnvironment(),
    cwd: options.folder,
    check: () => ping(options),
    readyTimeoutMs: 15_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
  };
}

function ping({ port, password }: RedisOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer in 2 s')));
    socket.once('error', reject);
    // A server that ends early closes the connection without an error.
    socket.once('close', () => reject(new Error('no answer')));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    let answer = '';
    socket.on('data', (bytes) => {
      answer += bytes.toString();
      if (answer === '+OK\r\n') return;
      socket.destroy();
      if (answer.startsWith('+OK\r\n+PONG')) resolve();
      else reject(new Error(answer.slice(0, 100)));
    });
  });
}
