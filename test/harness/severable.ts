/** Proxy to a server that can be cut and restored, like a network outage for one client. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Severable {
  /** `127.0.0.1:port`. */
  address: string;
  sever(): void;
  /** Requests still arrive, but no reply returns. */
  loseReplies(): void;
  mend(): void;
  close(): void;
}

export async function severable(target: string): Promise<Severable> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  let severed = false;
  let losesReplies = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const server: Server = createServer((client) => {
    keep(client);
    if (severed) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: host ?? '', port: Number(port) });
    keep(upstream);
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      if (losesReplies || client.destroyed) return;
      if (client.write(chunk)) return;
      upstream.pause();
      client.once('drain', () => upstream.resume());
    });
    upstream.once('end', () => client.end());
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    sever() {
      severed = true;
      cut();
    },
    loseReplies() {
      losesReplies = true;
    },
    mend() {
      severed = false;
      losesReplies = false;
    },
    close() {
      cut();
      server.close();
    },
  };
}
