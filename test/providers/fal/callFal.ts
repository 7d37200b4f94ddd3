/** Calls the adapter against a stub, in a private folder, with short timeouts. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaRole } from '../../../domain/generation/media.ts';
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createFal } from '../../../providers/fal/fal.ts';
import type {
  AudioRequest,
  CallContext,
  GenerationProvider,
  MediaFile,
  OperationHandle,
  Outcome,
  VideoRequest,
} from '../../../providers/shared/provider.ts';
import type { ServiceAccess } from '../../../providers/shared/serviceAddresses.ts';
import type { FalStub } from '../../stubs/fal/fal.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';

export const MUSIC = 'fal-ai/stable-audio-25/text-to-audio';
export const VIDEO = 'wan/v2.6/text-to-video';

export interface Caller {
  provider(options?: Partial<ServiceAccess>): GenerationProvider;
  context(change?: Partial<CallContext>): Promise<CallContext>;
  /** Submits the request and polls until it no longer runs. */
  run(request: AudioRequest | VideoRequest, options?: Partial<ServiceAccess>): Promise<Outcome>;
  medium(role: MediaRole, bytes: Buffer, place?: Partial<MediaFile>): Promise<MediaFile>;
  close(): Promise<void>;
}

const TYPES = { image: 'image/png', audio: 'audio/mpeg', video: 'video/mp4', document: 'application/pdf' };

export async function createCaller(stub: () => FalStub): Promise<Caller> {
  const root = await mkdtemp(join(tmpdir(), 'farebox-fal-'));
  const guardedFetch = createGuardedFetch({ allowPrivateHosts: [], failureFloorMs: 1 });
  const caller: Caller = {
    provider: (options) =>
      createFal(
        {
          apiKey: stub().apiKey,
          baseUrl: stub().baseUrl,
          allowPrivateNetwork: true,
          timeouts: Object.values(stub().faults).some((each) => each.some(({ kind }) => kind === 'hang'))
            ? SHORT_TIMEOUTS
            : LONG_TIMEOUTS,
          ...options,
        },
        guardedFetch,
      ),
    context: async (change) => ({
      workFolder: await mkdtemp(join(root, 'call-')),
      signal: AbortSignal.timeout(100_000),
      heartbeat: () => undefined,
      ...change,
    }),
    async run(request, options) {
      const provider = caller.provider(options);
      let outcome = await provider.start(request, await caller.context());
      for (let asked = 0; outcome.status === 'running' && asked < 10; asked += 1) {
        outcome = await checked(provider, outcome.operation, await caller.context());
      }
      return outcome;
    },
    async medium(role, bytes, place) {
      const path = join(root, `medium-${(await readdir(root)).length}`);
      await writeFile(path, bytes);
      const kind = role.includes('video') ? 'video' : role.includes('audio') ? 'audio' : 'image';
      const { size } = await stat(path);
      const medium = { role, index: 0, kind, sizeBytes: size, sha256: '', contentType: TYPES[kind] } as const;
      return { ...medium, path, ...place };
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
  return caller;
}

export async function checked(
  provider: GenerationProvider,
  operation: OperationHandle,
  context: CallContext,
): Promise<Outcome> {
  if (!provider.check) throw new Error('the adapter cannot be asked');
  return await provider.check(operation, context);
}

export function music(change: Partial<AudioRequest> = {}): AudioRequest {
  return {
    kind: 'audio',
    reference: crypto.randomUUID(),
    upstreamModel: MUSIC,
    prompt: 'calm rain',
    ...change,
  };
}

export function video(change: Partial<VideoRequest> = {}): VideoRequest {
  const order = { prompt: 'a red panda', durationSeconds: 5, resolution: '720p', aspectRatio: '16:9' };
  const which = { kind: 'video', reference: crypto.randomUUID(), upstreamModel: VIDEO, media: [] } as const;
  return { ...which, ...order, ...change };
}
