/** S3 server (versitygw) over a folder. Objects are files, their attributes are in a sidecar folder. */
import { mkdirSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';

export interface ObjectStoreOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

export function objectStoreProcess(options: ObjectStoreOptions): PartProcess {
  const data = path.join(options.folder, 'objects');
  const sidecar = path.join(options.folder, 'attributes');
  for (const folder of [data, sidecar]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const serve = ['--port', `127.0.0.1:${options.port}`, '--region', options.region, '--quiet', '--keep-alive'];
  return {
    name: 's3',
    command: options.program.path,
    args: [...serve, 'posix', '--sidecar', sidecar, data],
    // Keys are in the environment, because command lines are readable by all users of the machine.
    env: partEnvironment({
      ROOT_ACCESS_KEY: options.accessKeyId,
      ROOT_SECRET_KEY: options.secretAccessKey,
    }),
    cwd: options.folder,
    check: () => accepts(options.port),
    readyTimeoutMs: 15_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
  };
}

/** Rejects unless a process accepts connections on the loopback port. */
function accepts(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.setTimeout(2_000, () => socket.destroy(new Error('no connection in 2 s')));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
