/** Sends the head of a request and at most one byte of its body, and returns the response to that. */
import net from 'node:net';
import type { Route } from '../../../api/http/route.ts';
import type { TestApi } from '../startApi.ts';

export interface UnsentBody {
  headers: Record<string, string>;
  /** The client waits for 100 Continue. */
  expectsContinue?: boolean;
}

const BODY_BYTES = 100_000;
const DEADLINE_MS = 20_000;

/** Returns the head of the first response. Rejects when the server sends nothing. */
export function firstBytes(
  { port }: TestApi,
  route: Route,
  { headers, expectsContinue = false }: UnsentBody,
): Promise<string> {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    'content-type': contentTypeOf(route),
    'content-length': String(BODY_BYTES),
    ...(expectsContinue && { expect: '100-continue' }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${route.method} /api/v1${pathOf(route)} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error('the server waits for the body')));
    socket.on('error', reject);
    socket.on('connect', () => socket.write(expectsContinue ? head : `${head}{`));
    socket.once('data', (chunk) => {
      resolve(chunk.toString('latin1'));
      socket.destroy();
    });
  });
}

export function pathOf({ path }: Route): string {
  return path.replace('{network}', 'ethereum-mainnet').replaceAll(/\{\w+\}/g, 'nothing');
}

export function contentTypeOf({ body }: Route): string {
  return body?.json || body?.raw ? 'application/json' : 'multipart/form-data; boundary=x';
}
