/** Faults of a service, or of what stands before it (FAULT-2, FAULT-3). */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { silentMp3 } from './elevenlabsAudio.ts';

export type StubBehaviour =
  /** The connection ends before the request was read. */
  | { kind: 'destroy-at-once' }
  /** The order is taken in, then the connection ends without a word. */
  | { kind: 'accept-then-destroy' }
  /** The order is taken in and never answered. */
  | { kind: 'hang' }
  /** Head and half of the audio, then silence. */
  | { kind: 'silent-mid-body' }
  /** Head and half of the declared audio, then the connection ends. */
  | { kind: 'cut-body' }
  /** A byte now and then, for ever. */
  | { kind: 'drip'; everyMs: number }
  /** A status 200 with this body. */
  | { kind: 'ok'; contentType: string; body: Buffer | string }
  /** A status 200 whose audio does not end for a gigabyte. */
  | { kind: 'gigabyte' }
  /** Head and half of this body, then the connection ends, or nothing more comes. */
  | { kind: 'cut'; contentType: string; body: Buffer | string; stalls?: boolean }
  /** This head, then the same piece for a gigabyte. */
  | { kind: 'endless'; contentType: string; head: string; piece: Buffer }
  /** Any reply of a gateway or of the service. */
  | { kind: 'reply'; status: number; headers?: Record<string, string>; body?: unknown };

/** True when the service takes the order in before it goes wrong. */
export function handled(behaviour: StubBehaviour): boolean {
  return behaviour.kind !== 'reply' && behaviour.kind !== 'destroy-at-once';
}

export async function misbehave(
  response: ServerResponse,
  behaviour: StubBehaviour,
  count: (size: number) => void,
): Promise<void> {
  switch (behaviour.kind) {
    case 'destroy-at-once':
    case 'accept-then-destroy':
      return void response.destroy();
    case 'hang':
      return;
    case 'silent-mid-body':
    case 'cut-body':
      return half(response, {
        contentType: 'audio/mpeg',
        body: silentMp3(4),
        cuts: behaviour.kind === 'cut-body',
      });
    case 'cut': {
      const { contentType, body, stalls = false } = behaviour;
      return half(response, { contentType, body: Buffer.from(body), cuts: !stalls });
    }
    case 'drip':
      return drip(response, behaviour.everyMs);
    case 'ok':
      response.writeHead(200, { 'content-type': behaviour.contentType });
      return void response.end(behaviour.body);
    case 'gigabyte':
      return gigabyte(response, { contentType: 'audio/mpeg', head: '', piece: silentMp3(64), count });
    case 'endless':
      return gigabyte(response, { ...behaviour, count });
    case 'reply': {
      const text = typeof behaviour.body === 'string' ? behaviour.body : JSON.stringify(behaviour.body ?? {});
      const type = typeof behaviour.body === 'string' ? 'text/html' : 'application/json';
      response.writeHead(behaviour.status, { 'content-type': type, ...behaviour.headers });
      return void response.end(text);
    }
  }
}

function half(
  response: ServerResponse,
  { contentType, body, cuts }: { contentType: string; body: Buffer; cuts: boolean },
): void {
  response.writeHead(200, { 'content-type': contentType, 'content-length': String(body.length) });
  response.write(body.subarray(0, body.length / 2), () => {
    if (cuts) response.destroy();
  });
}

function drip(response: ServerResponse, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'audio/mpeg' });
  const timer = setInterval(() => response.write(Buffer.from([0xff])), everyMs);
  response.on('close', () => clearInterval(timer));
}

interface Endless {
  contentType: string;
  head: string;
  piece: Buffer;
  count: (size: number) => void;
}

async function gigabyte(response: ServerResponse, { contentType, head, piece, count }: Endless): Promise<void> {
  response.writeHead(200, { 'content-type': contentType });
  response.write(head);
  let gone = false;
  response.on('close', () => {
    gone = true;
    response.emit('drain');
  });
  for (let sent = 0; sent < 1e9 && !gone; sent += piece.length) {
    count(piece.length);
    if (!response.write(piece)) await once(response, 'drain');
  }
  response.end();
}
