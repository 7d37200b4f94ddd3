/** One question to a provider, counted by what came of it. */
import { providerOutcomes, providerSeconds } from '../infra/telemetry/counters.ts';
import { inSpan } from '../infra/telemetry/spans.ts';
import type { Outcome } from '../providers/provider.ts';
import type { GenerationInput } from '../workflows/contract.ts';

export async function askProvider<T extends Outcome | undefined>(
  { provider, modelId, queueId }: GenerationInput,
  call: 'start' | 'check' | 'find',
  ask: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  let told = 'error';
  const attributes = {
    'farebox.provider': provider,
    'farebox.model': modelId,
    'farebox.queue_id': queueId,
  };
  try {
    return await inSpan({ name: `${provider} ${call}`, kind: 'client', attributes }, async (note) => {
      const outcome = await ask();
      told = describe(outcome);
      note({ 'farebox.outcome': told });
      return outcome;
    });
  } finally {
    providerOutcomes.labels(provider, call, told).inc();
    providerSeconds.labels(provider, call).observe((performance.now() - startedAt) / 1000);
  }
}

function describe(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'not_known';
  return 'reason' in outcome ? `${outcome.status}_${outcome.reason}` : outcome.status;
}
