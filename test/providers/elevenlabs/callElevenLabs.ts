/** Calls the adapter against a stub, in a private folder, with short timeouts. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ElevenLabsClient, ElevenLabsError } from '@elevenlabs/elevenlabs-js';
import { createElevenLabs } from '../../../providers/elevenlabs/elevenlabs.ts';
import type {
  AudioRequest,
  GenerationRequest,
  Outcome,
  VoiceChangeRequest,
} from '../../../providers/shared/provider.ts';
import type { ServiceAccess } from '../../../providers/shared/serviceAddresses.ts';
import type { ElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { testWav } from '../../stubs/elevenlabsAudio.ts';
import { type StubBehaviour, timeoutsFor } from '../../stubs/elevenlabsFaults.ts';

export const STS_MODEL = 'eleven_multilingual_sts_v2';
export const SPEECH = 'eleven_multilingual_v2';
export const SPEECH_V3 = 'eleven_v3';
export const MUSIC = 'music_v1';
export const SOUND = 'eleven_text_to_sound_v2';

export interface Call {
  options?: Partial<ServiceAccess>;
  order?: Partial<VoiceChangeRequest>;
  /** Audio order that replaces the voice change. */
  audio?: Pick<AudioRequest, 'upstreamModel'> & Partial<AudioRequest>;
  signal?: AbortSignal;
}

/** Outcome, and the files in the call's folder afterwards. */
type Answer = Outcome & { files: string[] };

export interface Caller {
  sourcePath: string;
  run(stub: ElevenLabsStub, call?: Call): Promise<Answer>;
  /** Like `run`, with a stub that misbehaves once. */
  runWith(stub: ElevenLabsStub, behaviour: StubBehaviour, call?: Call): Promise<Answer>;
  close(): Promise<void>;
}

export async function createCaller(): Promise<Caller> {
  const root = await mkdtemp(join(tmpdir(), 'farebox-elevenlabs-'));
  const sourcePath = join(root, 'source.wav');
  await writeFile(sourcePath, testWav(2));

  async function run(stub: ElevenLabsStub, { options, order, audio, signal }: Call = {}): Promise<Answer> {
    const workFolder = await mkdtemp(join(root, 'call-'));
    const provider = createElevenLabs({
      apiKey: stub.apiKey,
      baseUrl: stub.baseUrl,
      allowPrivateNetwork: true,
      timeouts: timeoutsFor(stub.next),
      ...options,
    });
    const request = audio === undefined ? orderOf(sourcePath, order) : audioOf(audio);
    const outcome = await provider.start(request, {
      workFolder,
      signal: signal ?? AbortSignal.timeout(100_000),
      heartbeat: () => undefined,
    });
    return { ...outcome, files: await readdir(workFolder) };
  }

  return {
    sourcePath,
    run,
    runWith(stub, behaviour, call) {
      stub.next.push(behaviour);
      return run(stub, call);
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}

type AudioChange = Partial<NonNullable<Call['audio']>>;

export function music(change: AudioChange = {}): Call {
  return { audio: { upstreamModel: MUSIC, ...change } };
}

export function speech(change: AudioChange = {}): Call {
  return { audio: { upstreamModel: SPEECH, voice: 'Aria', ...change } };
}

export function effect(change: AudioChange = {}): Call {
  return { audio: { upstreamModel: SOUND, ...change } };
}

export function sdkClient(stub: ElevenLabsStub, apiKey = stub.apiKey): ElevenLabsClient {
  return new ElevenLabsClient({ apiKey, baseUrl: stub.baseUrl, maxRetries: 0, timeoutInSeconds: 10 });
}

/** Error that the SDK throws for the service's reply. */
export async function sdkFailure(work: PromiseLike<unknown>): Promise<{ status: number | undefined; detail: unknown }> {
  const error = await Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ElevenLabsError)) throw new Error(`no error of the SDK: ${String(error)}`);
  return { status: error.statusCode, detail: (error.body as { detail?: unknown }).detail };
}

function audioOf(change: NonNullable<Call['audio']>): GenerationRequest {
  return { kind: 'audio', reference: crypto.randomUUID(), prompt: 'Rain on a tin roof.', ...change };
}

function orderOf(sourcePath: string, change: Partial<VoiceChangeRequest> = {}): VoiceChangeRequest {
  return {
    kind: 'voice-changer',
    reference: crypto.randomUUID(),
    upstreamModel: STS_MODEL,
    sourcePath,
    sourceContentType: 'audio/wav',
    sourceDemuxer: 'wav',
    sourceSeconds: 2,
    voice: 'Aria',
    removeBackgroundNoise: false,
    ...change,
  };
}
