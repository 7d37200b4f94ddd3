/** A request that is cheap to send and was expensive to serve, with its expected effects. */
import { connect } from 'node:net';

export interface HostileTarget {
  origin: string;
  /** Key of an account with funds. */
  key: string;
  /** Site with hostile robots.txt and pages, which the API may read. */
  site: string;
}

export interface Answer {
  status: number;
  body: string;
}

interface ExpectedAnswer {
  status: number;
  /** Pattern of the answer's body. */
  body: RegExp;
}

export interface HostileRow<Target = HostileTarget> extends ExpectedAnswer {
  name: string;
  send(target: Target): Promise<Answer>;
  /** Other allowed answers on a slow machine. */
  whenSlow?: readonly (ExpectedAnswer & { because: string })[];
  /** Nano units. Undefined: at least `atLeast`. */
  charged?: bigint;
  /** Minimum charge. Default: 1. */
  atLeast?: bigint;
  /** Number of transfers to other accounts. Default: 0. */
  topUps?: number;
  /** Requests that upstreams and sites receive. Default: none. */
  seen?: readonly string[];
}

export interface Sending {
  key: string | undefined;
  method?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Sent as JSON, unless it is a form. */
  body?: object;
}

function open(origin: string, path: string, sending: Sending): Promise<Response> {
  const { key, body, method = body ? 'POST' : 'GET', signal } = sending;
  const isForm = body instanceof FormData;
  const headers = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body && !isForm && { 'content-type': 'application/json' }),
    ...sending.headers,
  };
  return fetch(`${origin}/api/v1${path}`, {
    ...{ method, headers },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

export async function ask(origin: string, path: string, sending: Sending): Promise<Answer> {
  const response = await open(origin, path, sending);
  return { status: response.status, body: await response.text() };
}

export function postJson(path: string, body: object) {
  return ({ origin, key }: HostileTarget) => ask(origin, path, { key, body });
}

export function formOf(bytes: Buffer, name: string, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  return form;
}

/** Reads a stream until `isEnough`, then disconnects. */
export async function leaveStream(
  origin: string,
  path: string,
  { isEnough, ...sending }: Sending & { isEnough(text: string): boolean | Promise<boolean> },
): Promise<Answer> {
  const away = new AbortController();
  const response = await open(origin, path, { ...sending, signal: away.signal });
  const decoder = new TextDecoder();
  let body = '';
  for await (const chunk of response.body ?? []) {
    body += decoder.decode(chunk as Uint8Array, { stream: true });
    if (await isEnough(body)) break;
  }
  away.abort();
  return { status: response.status, body };
}

const PIECES = 1_000;

/** Sends `count` bytes of invalid JSON, each in its own chunk. */
export function sendBytes(path: string, count: number) {
  return ({ origin, key }: Pick<HostileTarget, 'origin' | 'key'>) =>
    sendRaw(origin, {
      head:
        `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      *pieces() {
        for (let left = count; left > 0; left -= PIECES) {
          yield Buffer.from('1\r\nx\r\n'.repeat(Math.min(left, PIECES)));
        }
        yield Buffer.from('0\r\n\r\n');
      },
    });
}

/** Sends a raw request. The server may answer before it has read all. */
export function sendRaw(
  origin: string,
  { head, pieces }: { head: string; pieces(): Iterable<Buffer> },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    const answer: Buffer[] = [];
    // The client stops sending after the answer.
    socket.on('data', (bytes) => {
      answer.push(bytes);
      socket.end();
    });
    const isOver = () => socket.destroyed || answer.length > 0;
    socket.on('close', () => {
      const text = Buffer.concat(answer).toString();
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
      resolve({ status, body: text.slice(text.indexOf('\r\n\r\n') + 4) });
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
    });
    const rest = pieces()[Symbol.iterator]();
    const send = () => {
      for (let piece = rest.next(); !piece.done && !isOver(); piece = rest.next()) {
        if (!socket.write(piece.value)) return;
      }
    };
    socket.on('drain', send);
    socket.write(head);
    send();
  });
}
