/** Faults of a service or of a gateway before it (FAULT-2, FAULT-3). */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { silentMp3 } from './elevenlabsAudio.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from './timeouts.ts';

export type StubBehaviour =
  /** Closes the connection before it has read the request. */
  | { kind: 'destroy-at-once' }
  /** Accepts the order, then closes the connection. */
  | { kind: 'accept-then-destroy' }
  /** Accepts the order and never responds. */
  | { kind: 'hang' }
  /** Sends headers and half of the audio, then nothing. */
  | { kind: 'silent-mid-body' }
  /** Sends headers and half of the declared audio, then closes the connection. */
  | { kind: 'cut-body' }
  /** Sends a byte at each interval without end. */
  | { kind: 'drip'; everyMs: number }
  /** Responds 200 with this body. */
  | { kind: 'ok'; contentType: string; body: Buffer | string }
  /** Responds 200 with a gigabyte of audio. */
  | { kind: 'gigabyte' }
  /** Sends headers and half of this body, then closes the connection or stalls. */
  | { kind: 'cut'; contentType: string; body: Buffer | string; stalls?: boolean }
  /** Sends `head`, then repeats `piece` up to a gigabyte. */
  | { kind: 'endless'; contentType: string; head: string; piece: Buffer }
  /** Sends any reply of a gateway or the service. */
  | { kind: 'reply'; status: number; headers?: Record<string, string>; body?: unknown };

/** True if the service accepts the order before the fault. */
export function handled(behaviour: StubBehaviour): boolean {
  return behaviour.kind !== 'reply' && behaviour.kind !== 'destroy-at-once';
}

/** For an adapter that these are next for. */
export function timeoutsFor(next: readonly StubBehaviour[]): ProviderTimeouts {
  const falls = (each: StubBehaviour) => each.kind === 'hang' || each.kind === 'silent-mid-body';
  return next.some((each) => falls(each) || (each.kind === 'cut' && each.stalls)) ? SHORT_TIMEOUTS : LONG_TIMEOUTS;
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
