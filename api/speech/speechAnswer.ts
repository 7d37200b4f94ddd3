/** Answer with speech: whole with its length, or streamed. A failure before the beginning is an ordinary error. */
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { countTokens } from '../../engines/text/countTokens.ts';
import type { Speech, SpeechFormat } from '../../providers/shared/mediaProvider.ts';
import { type BinaryAnswer, binary, type StreamAnswer, stream } from '../http/answer.ts';
import { speechError } from './upstream.ts';

const CONTENT_TYPES: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** Twenty minutes of uncompressed stereo: 4,096 characters at a quarter of the speed. */
const MAX_BYTES = 256 * 1024 * 1024;

interface SpeechOutput {
  text: string;
  format: SpeechFormat;
  workFolder: string;
  /** Aborted at the time limit of a stream. */
  late: AbortSignal;
  /** Removes the folder. */
  done(): Promise<void>;
}

export async function wholeSpeech(speech: Speech, spoken: SpeechOutput): Promise<BinaryAnswer> {
  const path = join(spoken.workFolder, 'speech');
  let sizeBytes = 0;
  const counted = async function* () {
    for await (const chunk of bounded(speech.bytes)) {
      sizeBytes += chunk.length;
      yield chunk;
    }
  };
  await pipeline(Readable.from(counted()), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  if (sizeBytes === 0) throw noSound();
  const file = createReadStream(path);
  file.once('close', () => void spoken.done());
  return binary({ stream: file, contentType: CONTENT_TYPES[spoken.format], sizeBytes });
}

export async function streamedSpeech(speech: Speech, spoken: SpeechOutput): Promise<StreamAnswer> {
  return stream({ stream: await soundOf(speech, spoken), contentType: CONTENT_TYPES[spoken.format] });
}

/** The events of OpenAI's `stream_format: "sse"`. */
export async function speechEvents(speech: Speech, spoken: SpeechOutput): Promise<StreamAnswer> {
  const sound = await soundOf(speech, spoken);
  const events = Readable.from(eventsOf(sound, spoken.text));
  // Unread events end their source.
  events.once('close', () => sound.destroy());
  return stream({ stream: events, contentType: 'text/event-stream' });
}

async function* eventsOf(sound: Readable, text: string): AsyncGenerator<Buffer, void> {
  for await (const chunk of sound as AsyncIterable<Buffer>) {
    yield eventOf({ type: 'speech.audio.delta', audio: chunk.toString('base64') });
  }
  const tokens = await countTokens(text);
  const usage = { input_tokens: tokens, output_tokens: 0, total_tokens: tokens };
  yield eventOf({ type: 'speech.audio.done', usage });
}

function eventOf(event: { type: string; [field: string]: unknown }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Resolves when the first sound is there. */
async function soundOf(speech: Speech, spoken: SpeechOutput): Promise<Readable> {
  const chunks = bounded(speech.bytes);
  const first = await chunks.next();
  if (first.done) throw noSound();
  const source = Readable.from(resumed(first.value, chunks, spoken.late));
  source.once('close', () => {
    // An unread stream ends its source.
    void chunks.return().catch(() => undefined);
    void spoken.done();
  });
  return source;
}

async function* resumed(first: Buffer, others: AsyncIterable<Buffer>, late: AbortSignal): AsyncGenerator<Buffer, void> {
  yield first;
  try {
    for await (const chunk of others) {
      // A complete body would not be stopped by the service.
      late.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    throw speechError(error, 'invalid_request');
  }
}

/** Without empty pieces. */
async function* bounded(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let sent = 0;
  for await (const chunk of bytes) {
    sent += chunk.length;
    if (sent > MAX_BYTES) throw failure(`more than ${MAX_BYTES} bytes of speech`);
    if (chunk.length > 0) yield chunk;
  }
}

function noSound(): UpstreamFailure {
  return failure('no sound came');
}

function failure(detail: string): UpstreamFailure {
  return new UpstreamFailure({ reason: 'garbage', detail });
}
