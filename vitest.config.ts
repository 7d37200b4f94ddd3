import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take longest, longest first: with few workers, one that starts last would keep the others waiting. */
const LONGEST = [
  'kill/topUp',
  'kill/points',
  'acceptance/unansweredOrders',
  'workflows/topUp',
  'acceptance/voiceChangerOrders',
  'acceptance/facilitatorLies',
  'kill/chaos',
  'infra/media/duration',
  'acceptance/providerOutcomes',
  'api/x402/solanaTopUp',
  'api/killedSale',
  'workflows/generation',
  'infra/stack/start',
  'acceptance/webhooks',
  'acceptance/badMedia',
  'providers/local/speechSync',
  'architecture/regExps',
  'acceptance/jobEvents',
  'acceptance/textBadInput',
  'api/x402/facilitators',
  'providers/local/video/localVideo',
  'api/limits/limits',
  'api/server',
  'acceptance/hostile/plain',
  'acceptance/hostile/callers',
  'api/text/replacedProcess',
  'acceptance/documentation',
  'acceptance/badInput',
  'kill/rolling',
  'infra/web/hostilePages',
  'cli/corruptBooks',
  'acceptance/generation/orders',
  'cli/withDatabase',
  'infra/media/cutout/cutter',
  'providers/rpc/resilience',
  'acceptance/generation/badInput',
  'acceptance/generation/races',
  'workers/deployment',
  'api/text/lateBills',
  'kill/lostWorkflow',
  'providers/local/transcribe',
  'providers/local/localProvider',
  'acceptance/voiceChanger',
  'providers/local/speech',
  'infra/media/badInput',
  'acceptance/canaries',
  'acceptance/operatorUi',
  'infra/telemetry/watched',
  'workers/prepareServer',
  'infra/documents/bombs',
  'kill/twoApis',
  'api/speech/badRecordings',
  'kill/rpc',
  'kill/redis',
  'infra/media/videos',
  'acceptance/docsPage',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return [...files].sort((left, right) => rank(left) - rank(right));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.includes(`/test/${name}.test.`));
  return place < 0 ? LONGEST.length : place;
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/globalSetup.ts'],
    setupFiles: ['test/harness/setup.ts'],
    // With three, so many wait for processes and timers that two cores are idle for a third of the time.
    maxWorkers: 4,
    // Files of one worker share what they load: loading it anew for each took a fifth of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // A deadline only ends what hangs: no machine is so slow that a sound test comes near one of these.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
