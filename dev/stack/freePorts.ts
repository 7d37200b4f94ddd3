import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { processEnvironment } from '../../infra/config/environment.ts';
import { identify, isAlive, type ProcessIdentity } from '../launch/processIdentity.mjs';
import { cacheFolder } from './locate.ts';

/**
 * Below the range from which the system takes ports for outgoing connections: a part that comes back after a crash
 * must not find its port in use by one of those.
 */
const LOWEST = 20_000;
const HIGHEST = 32_767;
const ATTEMPTS = 200;

/**
 * Ports of the loopback address that are free now. No other call, in this process or another, returns them while this
 * process lives: the server that they are for may listen much later, or restart.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: net.Server[] = [];
  try {
    for (let attempt = 0; servers.length < count; attempt += 1) {
      if (attempt === ATTEMPTS) throw new Error(`no ${count} free ports from ${LOWEST} to ${HIGHEST}`);
      const server = await listen(randomInt(LOWEST, HIGHEST + 1), '127.0.0.1').catch(() => undefined);
      if (server === undefined) continue;
      // Stays open until all ports are known, so that no other process finds it free meanwhile.
      if (reserve(portOf(server))) servers.push(server);
      else await close(server);
    }
    return servers.map(portOf);
  } finally {
    await Promise.all(servers.map(close));
  }
}

/** Records this process as the owner. False: the port belongs to another call of a process that lives. */
function reserve(port: number): boolean {
  const folder = path.join(cacheFolder(processEnvironment()), 'ports');
  const file = path.join(folder, String(port));
  try {
    if (isAlive(JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity)) return false;
  } catch {
    // No owner, or a record that a killed process left half written.
  }
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, JSON.stringify(identify(process.pid)));
  } catch {
    // Without a cache folder the port is free now, which is all that can be known.
  }
  return true;
}

/** Why nothing can listen there (EADDRINUSE, EACCES, EADDRNOTAVAIL), or undefined when it can. */
export async function portProblem(port: number, host: string): Promise<string | undefined> {
  try {
    await close(await listen(port, host));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function listen(port: number, host: string): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

function portOf(server: net.Server): number {
  return (server.address() as net.AddressInfo).port;
}

function close(server: net.Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
