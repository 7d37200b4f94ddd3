/** Calls the adapter against the stub, in a private folder, with short timeouts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProviderTimeouts } from '../../../../domain/providerSettings.ts';
import { createElevenLabsMedia, type ElevenLabsMedia } from '../../../../providers/elevenlabs/media/elevenLabsMedia.ts';
import type {
  MediaCallContext,
  RecordingFile,
  Speech,
  SpeechOrder,
  Transcript,
  TranscriptionOrder,
} from '../../../../providers/shared/mediaProvider.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../../stubs/elevenlabs.ts';
import { testWav } from '../../../stubs/elevenlabsAudio.ts';
import { timeoutsFor } from '../../../stubs/elevenlabsFaults.ts';

/** Must appear in no error. */
export const TEXT = 'A secret about a lighthouse.';

export interface MediaDesk {
  stub: ElevenLabsStub;
  recording: RecordingFile;
  open(timeouts?: ProviderTimeouts): ElevenLabsMedia;
  context(signal?: AbortSignal): MediaCallContext;
  speak(change?: Partial<SpeechOrder>): Promise<Speech>;
  transcribe(change?: Partial<TranscriptionOrder>): Promise<Transcript>;
  clone(): Promise<string>;
  close(): Promise<void>;
}

export async function openDesk(): Promise<MediaDesk> {
  const stub = await startElevenLabsStub();
  const folder = await mkdtemp(join(tmpdir(), 'farebox-elevenlabs-media-'));
  const path = join(folder, 'source.wav');
  await writeFile(path, testWav(1));
  const recording = { path, contentType: 'audio/wav', demuxer: 'wav', seconds: 1 };
  const opened: ElevenLabsMedia[] = [];
  const open = (timeouts = timeoutsFor(stub.next)) => {
    const { apiKey, baseUrl } = stub;
    const made = createElevenLabsMedia({
      name: 'voices',
      apiKey,
      baseUrl,
      allowPrivateNetwork: true,
      timeouts,
    });
    opened.push(made);
    return made;
  };
  const context = (signal = new AbortController().signal) => ({ workFolder: folder, signal });
  return {
    ...{ stub, recording, open, context },
    speak: (change) => open().speak(speechOrder(change), context()),
    transcribe: (change) => open().transcribe(transcriptionOrder(recording, change), context()),
    clone: () => open().cloneVoice({ upstreamModel: 'ivc', endUser: 'user-1', recording }, context()),
    async close() {
      await Promise.all(opened.map((each) => each.close()));
      await stub.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function speechOrder(change: Partial<SpeechOrder> = {}): SpeechOrder {
  const asked = { upstreamModel: 'eleven_turbo_v2_5', endUser: 'user-1', text: TEXT, voice: 'Aria' };
  return { ...asked, format: 'mp3', speed: 1, ...change };
}

export function transcriptionOrder(
  recording: RecordingFile,
  change: Partial<TranscriptionOrder> = {},
): TranscriptionOrder {
  return { upstreamModel: 'scribe_v2', endUser: 'user-1', recording, timestamps: false, ...change };
}

export async function heard({ bytes }: Speech): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}
