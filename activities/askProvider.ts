/** One request to a provider: counts its outcome, and records in the circuit whether the provider answers. */
import { recordProviderFailure, recordProviderSuccess } from '../infra/postgres/providerHealth.ts';
import { providerOutcomes, providerSeconds } from '../infra/telemetry/counters.ts';
import { inSpan } from '../infra/telemetry/spans.ts';
import type { Outcome } from '../providers/shared/provider.ts';
import type { GenerationInput } from '../workflows/contract.ts';
import type { ActivityDependencies } from './dependencies.ts';

export interface ProviderCall {
  job: GenerationInput;
  call: 'start' | 'check' | 'find';
  /** Signal of the step: an aborted request tells nothing about the provider. */
  signal: AbortSignal;
}

export async function askProvider<T extends Outcome | undefined>(
  dependencies: ActivityDependencies,
  { job: { provider, modelId, queueId }, call, signal }: ProviderCall,
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
      if (!signal.aborted) await noteHealth(dependencies, provider, outcome);
      return outcome;
    });
  } finally {
    providerOutcomes.labels(provider, call, told).inc();
    providerSeconds.labels(provider, call).observe((performance.now() - startedAt) / 1000);
  }
}

/** An answer counts even when the circuit cannot be updated. */
async function noteHealth(
  { pool, log }: ActivityDependencies,
  provider: string,
  outcome: Outcome | undefined,
): Promise<void> {
  try {
    if (isDown(outcome)) {
      const pauseMs = await recordProviderFailure(pool, provider);
      if (pauseMs !== undefined) log.warn({ provider, pauseMs }, 'provider circuit opened');
    } else if (await recordProviderSuccess(pool, provider)) {
      log.info({ provider }, 'provider circuit closed');
    }
  } catch (err) {
    log.warn({ err, provider }, 'the state of a provider could not be noted');
  }
}

/**
 * Whether other requests would fail as well: no answer, no capacity, or our credential was refused. A refused order,
 * also by content policy, and a limit of our account are answers like any other.
 */
function isDown(outcome: Outcome | undefined): boolean {
  switch (outcome?.status) {
    case 'unknown':
      return true;
    case 'busy':
      return outcome.reason === 'overloaded';
    case 'refused':
      return outcome.reason === 'credential';
    default:
      return false;
  }
}

function describe(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'not_known';
  if (!('reason' in outcome)) return outcome.status;
  // The label keeps its name for existing dashboards.
  return `${outcome.status}_${outcome.reason === 'refused' ? 'invalid_request' : outcome.reason}`;
}
