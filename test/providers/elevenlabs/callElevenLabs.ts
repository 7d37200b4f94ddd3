/** Calls the adapter against a stub, in a private folder, with short patience. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createElevenLabs, type ElevenLabsOptions } from '../../../providers/elevenlabs/elevenlabs.ts';
import type { Outcome, VoiceChangeRequest } from '../../../providers/provider.ts';
import type { ElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { testWav } from '../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../stubs/elevenlabsFaults.ts';

export const STS_MODEL = 'eleven_multilingual_sts_v2';

export interface Call {
  options?: Partial<ElevenLabsOptions>;
  order?: Partial<VoiceChangeRequest>;
  signal?: AbortSignal;
}

/** What came back, and what then lay in the folder of the call. */
export type Answer = Outcome & { files: string[] };

export interface Caller {
  sourcePath: string;
  run(stub: ElevenLabsStub, call?: Call): Promise<Answer>;
  /** The same against a stub that misbehaves once. */
  runWith(stub: ElevenLabsStub, behaviour: StubBehaviour, call?: Call): Promise<Answer>;
  close(): Promise<void>;
}

export async function createCaller(): Promise<Caller> {
  const root = await mkdtemp(join(tmpdir(), 'farebox-elevenlabs-'));
  const sourcePath = join(root, 'source.wav');
  await writeFile(sourcePath, testWav(2));

  async function run(stub: ElevenLabsStub, { options, order, signal }: Call = {}): Promise<Answer> {
    const workFolder = await mkdtemp(join(root, 'call-'));
    const provider = createElevenLabs({
      apiKey: stub.apiKey,
      baseUrl: stub.baseUrl,
      allowPrivateNetwork: true,
      timeouts: { connectMs: 1_000, firstByteMs: 400, idleMs: 400 },
      ...options,
    });
    const outcome = await provider.start(orderOf(sourcePath, order), {
      workFolder,
      signal: signal ?? AbortSignal.timeout(20_000),
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
