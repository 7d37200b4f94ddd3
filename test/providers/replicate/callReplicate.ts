/** Calls the adapter against the stub, each call in its own folder, with short timeouts. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kindOfRole, type MediaRole } from '../../../domain/generation/media.ts';
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createReplicate, type ReplicateOptions } from '../../../providers/replicate/replicate.ts';
import type {
  AudioRequest,
  CallContext,
  GenerationProvider,
  MediaFile,
  OperationHandle,
  Outcome,
  VideoRequest,
} from '../../../providers/shared/provider.ts';
import type { ReplicateStub } from '../../stubs/replicate/replicate.ts';
import { LONG_TIMEOUTS, SHORT_TIMEOUTS } from '../../stubs/timeouts.ts';

export const DEADLINE_MS = 90_000;

export interface Caller {
  provider(options?: Partial<ReplicateOptions>): GenerationProvider;
  context(change?: Partial<CallContext>): Promise<CallContext>;
  start(order: AudioRequest | VideoRequest, change?: Partial<CallContext>): Promise<Outcome>;
  check(operation: OperationHandle, change?: Partial<CallContext>): Promise<Outcome | undefined>;
  medium(role: MediaRole, bytes: Buffer, change?: Partial<MediaFile>): Promise<MediaFile>;
  close(): Promise<void>;
}

/** Reads `stub` at every call, so that each test may have its own. */
export async function createCaller(stub: () => ReplicateStub): Promise<Caller> {
  const root = await mkdtemp(join(tmpdir(), 'farebox-replicate-'));
  const provider = (options: Partial<ReplicateOptions> = {}) =>
    createReplicate({
      apiKey: stub().apiKey,
      baseUrl: stub().baseUrl,
      allowPrivateNetwork: true,
      timeouts: stub().faults.some(({ fault }) => fault.kind === 'hang') ? SHORT_TIMEOUTS : LONG_TIMEOUTS,
      deadlineMs: DEADLINE_MS,
      guardedFetch: createGuardedFetch({
        allowPrivateHosts: [new URL(stub().deliveryUrl).host],
        failureFloorMs: 1,
      }),
      ...options,
    });
  const context = async (change: Partial<CallContext> = {}) => ({
    workFolder: await mkdtemp(join(root, 'call-')),
    signal: AbortSignal.timeout(100_000),
    heartbeat: () => undefined,
    ...change,
  });
  return {
    provider,
    context,
    start: async (order, change) => provider().start(order, await context(change)),
    check: async (operation, change) => provider().check?.(operation, await context(change)),
    async medium(role, bytes, change = {}) {
      const path = join(root, `medium-${crypto.randomUUID()}`);
      await writeFile(path, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const contentType = {
        image: 'image/png',
        audio: 'audio/mpeg',
        video: 'video/mp4',
        document: 'text/plain',
      };
      const kind = kindOfRole(role);
      const measured = { kind, sizeBytes: bytes.length, sha256, contentType: contentType[kind] };
      return { role, index: 0, path, ...measured, ...change };
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}

export function song(change: Partial<AudioRequest> = {}): AudioRequest {
  return {
    kind: 'audio',
    reference: crypto.randomUUID(),
    upstreamModel: 'google/lyria-2',
    prompt: 'a slow waltz',
    ...change,
  };
}

export function film(change: Partial<VideoRequest> = {}): VideoRequest {
  return {
    kind: 'video',
    reference: crypto.randomUUID(),
    upstreamModel: 'google/veo-3',
    prompt: 'a lighthouse',
    media: [],
    ...change,
  };
}
