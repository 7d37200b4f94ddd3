import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { processEnvironment } from './infra/config/environment.ts';

/** Those that take longest, longest first: with few workers, one that starts last would keep the others waiting. */
const LONGEST = [
  'kill/topUp',
  'kill/failpoints',
  'acceptance/unansweredOrders',
  'acceptance/facilitatorLies',
  'workflows/topUp',
  'providers/local/speechSync',
  'acceptance/voiceChangerOrders',
  'infra/postgres/archivedMonths',
  'acceptance/providerOutcomes',
  'kill/chaos',
  'acceptance/badMedia',
  'api/x402/solanaTopUp',
  'acceptance/documentation',
  'api/killedLateBill',
  'acceptance/webhooks',
  'api/text/replacedProcess',
  'workflows/generation',
  'api/speech/transcriptions',
  'api/killedSale',
  'infra/postgres/sealedDays',
  'acceptance/jobEvents',
  'engines/documents/bombs',
  'acceptance/generation/orders',
  'providers/local/video/localVideo',
  'dev/stack/start',
  'api/body/turnGuard',
  'providers/local/speech',
  'kill/restoredDump',
  'cli/corruptBooks',
  'engines/media/duration',
  'acceptance/textBadInput',
  'api/x402/facilitators',
  'infra/postgres/ledgerCheck',
  'api/speech/badRecordings',
  'engines/media/badInput',
  'kill/rolling',
  'cli/withDatabase',
  'acceptance/badInput',
  'workers/deployment',
  'api/limits/limits',
  'infra/http/pages/hostilePages',
  'acceptance/generation/badInput',
  'providers/local/localProvider',
  'providers/local/transcribe',
  'api/server',
  'engines/media/videos',
  'providers/rpc/resilience',
  'api/speech/voices',
  'architecture/regExps',
  'kill/lostWorkflow',
  'acceptance/canaries',
  'api/text/lateBills',
  'acceptance/generation/races',
  'acceptance/hostile/callers',
  'acceptance/voiceChanger',
  'acceptance/hostile/plain',
  'infra/telemetry/watched',
  'dev/stack/demoChain',
  'api/body/bodies',
  'infra/http/pages/pageTurns',
  'acceptance/fuzz/fuzz',
  'cli/withoutServices',
  'api/paid/purchase',
  'acceptance/operatorUi',
  'kill/rpc',
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
    // Ends tests that hang. Far above the time of any test on a busy machine.
    testTimeout: processEnvironment().FAREBOX_TEST_LONG === '1' ? 1_200_000 : 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 180_000 } },
  },
});
