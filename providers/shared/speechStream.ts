/** Checks the beginning of a service's speech, then streams it. */

import type { ServiceBody } from '../../infra/http/serviceExchange.ts';
import type { ServiceReply } from '../../infra/http/serviceHttp.ts';
import { type AudioContentType, audioContentType } from './audioFile.ts';
import type { Speech, SpeechFormat } from './mediaProvider.ts';
import { asFailure, garbageFailure } from './textFailures.ts';

/** An hour at the best quality; a speech has at most 4,096 characters. */
export const MAX_SPEECH_BYTES = 64 * 1024 * 1024;

/** Undefined: samples without a container. */
export const SPEECH_CONTAINERS: Record<SpeechFormat, AudioContentType | undefined> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: undefined,
};
/** Containers that samples cannot resemble; two bytes of samples may look like an MPEG audio frame. */
const NO_SAMPLES: readonly (AudioContentType | undefined)[] = ['audio/wav', 'audio/ogg', 'audio/flac'];
/** Longest signature. */
const HEAD_BYTES = 12;

/** Takes a reply with status 200. Throws UpstreamFailure if it does not begin like the ordered format. */
export async function openSpeech(reply: ServiceReply, format: SpeechFormat): Promise<Speech> {
  const { body, status } = reply;
  const declared = reply.headers['content-type'] ?? '';
  try {
    if (/^(text|image)\/|json|html|xml/i.test(declared)) throw garbageFailure('no audio is declared', status);
    const head = await firstBytes(body);
    if (head.length === 0) throw garbageFailure('the audio is empty', status);
    const found = audioContentType(head);
    const wanted = SPEECH_CONTAINERS[format];
    if (wanted === undefined ? NO_SAMPLES.includes(found) : found !== wanted) {
      throw garbageFailure(`${found ?? 'something else'} in place of ${format}`, status);
    }
    return { bytes: new SpeechBytes(head, body) };
  } catch (error) {
    body.abort();
    throw asFailure(error);
  }
}

async function firstBytes(body: ServiceBody): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const piece = await body.next();
    if (piece === undefined) break;
    head = Buffer.concat([head, piece]);
  }
  return head;
}

/** Not a generator: one that is left before its first step would keep its connection. */
class SpeechBytes implements AsyncIterableIterator<Buffer, undefined> {
  private head: Buffer | undefined;
  private readonly body: ServiceBody;
  private passedBytes = 0;

  constructor(head: Buffer, body: ServiceBody) {
    this.head = head;
    this.body = body;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    try {
      const value = this.head ?? (await this.body.next());
      this.head = undefined;
      if (value === undefined) return { done: true, value };
      this.passedBytes += value.length;
      if (this.passedBytes > MAX_SPEECH_BYTES) throw garbageFailure('the audio is too large');
      return { done: false, value };
    } catch (error) {
      this.body.abort();
      throw asFailure(error);
    }
  }

  async return(): Promise<IteratorResult<Buffer, undefined>> {
    this.head = undefined;
    this.body.abort();
    return { done: true, value: undefined };
  }
}
