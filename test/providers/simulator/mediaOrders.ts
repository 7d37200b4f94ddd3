/** A simulator with separate state for each test, and audio and video orders. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { AudioRequest, Outcome, VideoRequest } from '../../../providers/shared/provider.ts';
import type { SimulatorBehaviour } from '../../../providers/simulator/settings.ts';
import { createSimulator } from '../../../providers/simulator/simulator.ts';
import { mediaTools } from '../../engines/media/recordings.ts';

let root: string;
/** Call once per test file. Files that only import may share this module. */
export function useSimulatorState(): void {
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'farebox simulator media '));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));
}

export function simulator(change: Partial<SimulatorBehaviour> = {}) {
  return createSimulator(
    {
      kind: 'simulator',
      latencyMs: 0,
      outcome: 'done',
      faults: [],
      lookup: true,
      synchronous: false,
      models: {},
      ...change,
    },
    { stateFolder: join(root, 'state'), tools: mediaTools() },
  );
}

export function audio(change: Partial<AudioRequest> = {}): AudioRequest {
  return {
    kind: 'audio',
    reference: crypto.randomUUID(),
    upstreamModel: 'simulator-music',
    prompt: 'a quiet evening by the sea',
    durationSeconds: 3,
    ...change,
  };
}

export function video(change: Partial<VideoRequest> = {}): VideoRequest {
  return {
    kind: 'video',
    reference: crypto.randomUUID(),
    upstreamModel: 'flaky-video',
    prompt: 'a lighthouse in the rain',
    durationSeconds: 2,
    resolution: '256p',
    aspectRatio: '16:9',
    media: [],
    ...change,
  };
}

export async function context(signal = new AbortController().signal) {
  const call = {
    workFolder: await mkdtemp(join(root, 'call-')),
    signal,
    beats: 0,
    heartbeat: () => {
      call.beats += 1;
    },
  };
  return call;
}

export function pathOf(outcome: Outcome | undefined): string {
  if (outcome?.status !== 'done') throw new Error(`not done: ${JSON.stringify(outcome)}`);
  return outcome.output.path;
}
