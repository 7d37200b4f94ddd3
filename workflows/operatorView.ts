/** What an operator reads in the Temporal UI without opening a payload. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { formatNano } from '../domain/money.ts';
import { type GenerationInput, type GenerationResult, SEARCH_ATTRIBUTES } from './contract.ts';

/** Shows where the job stands; `next` says in a few words what happened last and what comes next. */
export function describeJob(input: GenerationInput, result: GenerationResult, next: string): void {
  const price = result.priceUsd === undefined ? undefined : formatNano(BigInt(result.priceUsd));
  const lines = [
    `**${result.state}** · ${next}`,
    '',
    `- account: ${input.accountId}`,
    `- model: ${input.modelId} at ${input.provider}`,
    `- price: ${price === undefined ? 'not charged' : `${price} USD`}`,
    `- charge: ${result.chargeId ?? 'none'}`,
    `- refund: ${result.refundId ?? 'none'}`,
    ...(result.durationSeconds ? [`- measured: ${result.durationSeconds} s`] : []),
    ...(result.failure ? [`- failure: ${result.failure.code}: ${result.failure.message}`] : []),
  ];
  setCurrentDetails(lines.join('\n'));
  upsertSearchAttributes({
    [SEARCH_ATTRIBUTES.state]: [result.refundId ? `${result.state}-refunded` : result.state],
    ...(price === undefined ? {} : { [SEARCH_ATTRIBUTES.costUsd]: [Number(price)] }),
  });
}
