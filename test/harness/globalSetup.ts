/**
 * Runs once per `vitest run`, in its main process. Starts nothing by itself: the first test file that imports
 * `services.ts` asks for the parts over a socket, so that tests of pure rules wait for none.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { openParts, type Parts } from './parts.ts';

export interface HarnessContext {
  socketPath: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    harness: HarnessContext;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let parts: Promise<Parts> | undefined;
  const socketPath = path.join(os.tmpdir(), `farebox-${randomUUID().slice(0, 8)}.sock`);
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    parts ??= openParts();
    parts.then(
      ({ services }) => socket.end(JSON.stringify({ services })),
      (error: unknown) => socket.end(JSON.stringify({ problem: String(error) })),
    );
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  project.provide('harness', { socketPath });
  return async () => {
    server.close();
    rmSync(socketPath, { force: true });
    const opened = await parts?.catch(() => undefined);
    await opened?.close();
  };
}
