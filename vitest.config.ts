import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take longest, longest first: with few workers, one that starts last would keep the others waiting. */
const LONGEST = [
  'kill/points',
  'api/limits/limits',
  'infra/media/duration',
  'infra/stack/start',
  'kill/chaos',
  'kill/twoApis',
  'acceptance/badInput',
  'acceptance/textBadInput',
  'acceptance/canaries',
  'acceptance/voiceChangerOrders',
  'acceptance/voiceChanger',
  'providers/local/localProvider',
  'api/server',
  'cli/withDatabase',
  'infra/documents/bombs',
  'api/text/upstreams',
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
    // Real processes on few cores: more files at once would only measure each other.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});
