import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { processEnvironment } from '../../infra/config/environment.ts';
import { identify, isAlive, type ProcessIdentity } from '../launch/processIdentity.mjs';
import { cacheFolder } from './locate.ts';

/**
 * Below the range of ports for outgoing connections, which could otherwise take the port of a part while it restarts.
 */
const LOWEST = 20_000;
const HIGHEST = 32_767;
const ATTEMPTS = 200;

/**
 * Finds free ports of the loopback address. No other call in any process returns them while this process lives, because
 * their server may listen much later, or restart.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: net.Server[] = [];
  try {
    for (let attempt = 0; servers.length < count; attempt += 1) {
      if (attempt === ATTEMPTS) throw new Error(`no ${count} free ports from ${LOWEST} to ${HIGHEST}`);
      const server = await listen(randomInt(LOWEST, HIGHEST + 1), '127.0.0.1').catch(() => undefined);
      if (server === undefined) continue;
      // The port stays open until all ports are found, so that no other process takes it.
      if (reserve(portOf(server))) servers.push(server);
      else await close(server);
    }
    return servers.map(portOf);
  } finally {
    await Promise.all(servers.map(close));
  }
}

/** Records this process as the owner. False when a call of another living process owns the port. */
function reserve(port: number): boolean {
  const folder = path.join(cacheFolder(processEnvironment()), 'ports');
  const file = path.join(folder, String(port));
  try {
    if (isAlive(JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity)) return false;
  } catch {
    // No owner, or an incomplete record of a killed process.
  }
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, JSON.stringify(identify(process.pid)));
  } catch {
    // Without a cache folder, only a port that is free now can be found.
  }
  return true;
}

/** Error code (EADDRINUSE, EACCES, EADDRNOTAVAIL) if the address cannot be listened on, else undefined. */
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
