import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take longest, longest first: with few workers, one that starts last would keep the others waiting. */
const LONGEST = [
  'kill/points',
  'kill/topUp',
  'kill/chaos',
  'infra/media/duration',
  'infra/stack/start',
  'acceptance/providerOutcomes',
  'api/killedSale',
  'acceptance/webhooks',
  'acceptance/textBadInput',
  'acceptance/badInput',
  'acceptance/badMedia',
  'acceptance/jobEvents',
  'api/limits/limits',
  'kill/twoApis',
  'workflows/generation',
  'acceptance/generation/orders',
  'acceptance/generation/badInput',
  'acceptance/voiceChangerOrders',
  'infra/web/hostilePages',
  'providers/local/speechSync',
  'kill/rolling',
  'acceptance/documentation',
  'acceptance/voiceChanger',
  'providers/local/video/localVideo',
  'providers/local/localProvider',
  'infra/media/videos',
  'api/server',
  'workers/deployment',
  'acceptance/facilitatorLies',
  'acceptance/generation/races',
  'acceptance/hostile/plain',
  'acceptance/hostile/callers',
  'acceptance/canaries',
  'cli/withoutServices',
  'cli/withDatabase',
  'infra/documents/bombs',
  'workflows/webhook',
  'infra/media/badInput',
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
    // Some wait for what others are computing; with more, they would only measure each other.
    maxWorkers: 3,
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
