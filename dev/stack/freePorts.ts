import { randomInt } from 'node:crypto';
import net from 'node:net';

/**
 * Below the range from which the system takes ports for outgoing connections: a part that comes back after a crash
 * must not find its port in use by one of those.
 */
const LOWEST = 20_000;
const HIGHEST = 32_767;
const ATTEMPTS = 200;

/** Ports of the loopback address that are free now; all are held open until the last is known, so none comes twice. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: net.Server[] = [];
  try {
    for (let attempt = 0; servers.length < count; attempt += 1) {
      if (attempt === ATTEMPTS) throw new Error(`no ${count} free ports from ${LOWEST} to ${HIGHEST}`);
      const server = await listen(randomInt(LOWEST, HIGHEST + 1), '127.0.0.1').catch(() => undefined);
      if (server !== undefined) servers.push(server);
    }
    return servers.map((server) => (server.address() as net.AddressInfo).port);
  } finally {
    await Promise.all(servers.map(close));
  }
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

function close(server: net.Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
