/** Foreign web server: serves media by name, and fails in every way. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveFile } from '../fileServer.ts';

export interface MediaServer {
  /** `127.0.0.1:port`, for `allowPrivateHosts`. */
  host: string;
  /** Adds or replaces a file. Returns its URL. */
  serve(name: string, bytes: Buffer): string;
  /** URL of a behaviour of BEHAVIOURS or fileServer.ts. */
  at(path: string): string;
  close(): void;
}

const MEGABYTE = 1_048_576;
const CHUNK = Buffer.alloc(MEGABYTE, 7);

const BEHAVIOURS: Record<string, (response: ServerResponse) => void> = {
  '/empty-file': (response) => response.writeHead(200, { 'content-length': '0' }).end(),
  '/never-ending': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    pump(response);
  },
  /** Announces more than the limit of any medium, and sends little. */
  '/gigabyte': (response) => response.writeHead(200, { 'content-length': '1000000000' }).write('RIFF'),
  /** Sends a byte every 400 ms. */
  '/dripping': (response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const drip = setInterval(() => response.write('x'), 400);
    response.once('close', () => clearInterval(drip));
  },
  /** Sends a hundred times the announced length. */
  '/understated': (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.end(Buffer.alloc(100_000, 7));
  },
  '/web-page': (response) =>
    response.writeHead(200, { 'content-type': 'video/mp4' }).end('<!doctype html><html><body>Not found</body></html>'),
};

function pump(response: ServerResponse): void {
  while (!response.destroyed && response.write(CHUNK)) {
    // Writes until the socket is full.
  }
  if (!response.destroyed) response.once('drain', () => pump(response));
}

export async function startMediaServer(): Promise<MediaServer> {
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => answer(files, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    serve(name, bytes) {
      files.set(`/${name}`, bytes);
      return `http://${host}/${name}`;
    },
    at: (path) => `http://${host}${path}`,
    close: () => end(server),
  };
}

function answer(files: Map<string, Buffer>, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://media');
  const file = files.get(pathname);
  const behaviour = Object.hasOwn(BEHAVIOURS, pathname) ? BEHAVIOURS[pathname] : undefined;
  if (file) response.writeHead(200).end(file);
  else if (behaviour) behaviour(response);
  else serveFile(request as Parameters<typeof serveFile>[0], response as Parameters<typeof serveFile>[1]);
}

function end(server: Server): void {
  server.closeAllConnections();
  server.close();
}
