/** Redis: limits and short-lived caches only, so nothing is kept on disk. */
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../partEnvironment.ts';

export interface RedisOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  /** Numbered databases; 16 unless told. */
  databases?: number;
}

export function redisProcess(options: RedisOptions): PartProcess {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const databases = options.databases === undefined ? [] : ['--databases', String(options.databases)];
  const listen = ['--port', String(options.port), '--bind', '127.0.0.1'];
  return {
    name: 'redis',
    command: options.program.path,
    args: [...listen, '--save', '', '--appendonly', 'no', '--dir', options.folder, ...databases],
    env: partEnvironment(),
    cwd: options.folder,
    check: () => ping(options.port),
    readyTimeoutMs: 15_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
  };
}

function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer in 2 s')));
    socket.once('error', reject);
    // A server that ends before it answers just hangs up.
    socket.once('close', () => reject(new Error('no answer')));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      socket.destroy();
      if (answer.toString().startsWith('+PONG')) resolve();
      else reject(new Error(answer.toString().slice(0, 100)));
    });
  });
}
