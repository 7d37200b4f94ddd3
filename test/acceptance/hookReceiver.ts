/** Webhook receiver of a client: records and verifies messages, and answers by path. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface Received {
  path: string;
  /** Value of the header `webhook-id`. */
  id: string;
  headers: Record<string, string>;
  body: string;
  /** Arrival in Unix ms. */
  at: number;
}

export interface Message {
  id: string;
  type: string;
  created_at: string;
  data: Record<string, unknown> & { queue_id: string; timeline: { event: string }[] };
}

export interface HookReceiver {
  url(path: string): string;
  host: string;
  received: Received[];
  close(): void;
}

type Answer = (response: ServerResponse, before: number) => void;

/** Answers by the first part of the path. `before` is the number of earlier messages there. */
const ANSWERS: Record<string, Answer> = {
  ok: (response) => response.writeHead(204).end(),
  flaky: (response, before) => response.writeHead(before === 0 ? 500 : 200).end('{"thanks":true}'),
  slow: (response, before) => {
    if (before > 0) response.writeHead(200).end();
  },
  elsewhere: (response) => response.writeHead(301, { location: '/ok/from-elsewhere' }).end(),
  gone: (response) => response.writeHead(410).end(),
};

export async function openReceiver(): Promise<HookReceiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/';
    const body = await text(request);
    const before = received.filter((each) => each.path === path).length;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    received.push({ path, id: headers['webhook-id'] ?? '', headers, body, at: Date.now() });
    const answer = ANSWERS[path.split(/[/?]/)[1] ?? ''];
    if (answer) answer(response, before);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ host, received },
    url: (path) => `http://${host}${path}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Verifies with the public library of the convention. Throws unless the signature is made with this secret. */
export function read(secret: string, { body, headers }: Received): Message {
  return new Webhook(secret).verify(body, headers) as Message;
}

/** Tolerance of the convention in both directions. */
const TOLERANCE_MS = 300_000;

/** Like `read` for an old message, which must have been valid on arrival. */
export function readOld(secret: string, { id, body, headers, at }: Received): Message {
  const signedAt = new Date(Number(headers['webhook-timestamp']) * 1_000);
  if (Math.abs(at - signedAt.getTime()) > TOLERANCE_MS) throw new Error(`${id} was too old when it came`);
  const signature = new Webhook(secret).sign(id, signedAt, body);
  if (!headers['webhook-signature']?.split(' ').includes(signature)) throw new Error(`${id} is not signed`);
  return JSON.parse(body) as Message;
}
