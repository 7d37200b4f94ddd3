/** A file server that misbehaves like servers on the internet. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface HostileServer {
  port: number;
  requests: IncomingMessage[];
  openSockets(): number;
  close(): Promise<void>;
}

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** Behaviour by path; an unknown path is 404. */
export async function hostileServer(behaviours: Record<string, Behaviour>, host = '127.0.0.1'): Promise<HostileServer> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    requests.push(request);
    response.on('error', () => {});
    const behaviour = behaviours[new URL(request.url ?? '/', 'http://x').pathname];
    if (behaviour) behaviour(request, response);
    else response.writeHead(404).end('no such file');
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    openSockets: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');

export function endless(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write(MEGABYTE));
  };
  response.on('drain', more);
  more();
}

function slow(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write('x'), 200);
  response.on('close', () => clearInterval(timer));
}

function silentAfterHead(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('first');
}

export const BEHAVIOURS: Record<string, Behaviour> = {
  '/good': (_, response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound'),
  '/gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('sound')),
  '/bomb': (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(60_000_000))),
  '/bad-gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip'),
  '/odd-encoding': (_, response) => response.writeHead(200, { 'content-encoding': 'compress' }).end('x'),
  '/endless': endless,
  '/announced': (_, response) => response.writeHead(200, { 'content-length': '999999999' }).write('x'),
  '/short': (_, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('x', () => response.destroy());
  },
  '/slow': slow,
  '/silent': () => {},
  '/silent-after-head': silentAfterHead,
  '/reset': (request) => request.socket.resetAndDestroy(),
  '/headers': (_, response) => response.writeHead(200, { 'x-large': 'x'.repeat(30_000) }).end('x'),
  '/many-headers': (_, response) => {
    for (let index = 0; index < 1_500; index += 1) response.setHeader(`x-${index}`, 'y'.repeat(20));
    response.end('x');
  },
  '/garbage': (request) => request.socket.end('this is not HTTP\r\n\r\n'),
  '/not-found': (_, response) => response.writeHead(404).end('x'),
  '/error': (_, response) => response.writeHead(500).end('x'),
  '/no-content': (_, response) => response.writeHead(204).end(),
  '/partial': (_, response) => response.writeHead(206).end('x'),
  '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/one': (_, response) => response.writeHead(302, { location: '/two' }).end(),
  '/two': (_, response) => response.writeHead(307, { location: '/three' }).end(),
  '/three': (_, response) => response.writeHead(301, { location: '/good' }).end(),
  '/zero': (_, response) => response.writeHead(302, { location: '/one' }).end(),
  '/no-location': (_, response) => response.writeHead(302).end(),
  '/redirect': (request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://x');
    response
      .writeHead(Number(searchParams.get('status')), {
        location: Buffer.from(searchParams.get('to') ?? '').toString('latin1'),
      })
      .end();
  },
};
