/** Summary for operators in the Temporal UI, without opening a payload. */
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import { formatNano } from '../domain/money.ts';
import { type GenerationInput, type GenerationResult, SEARCH_ATTRIBUTES } from './contract.ts';

/**
 * Shows the state of the job; `next` says in a few words what happened last and what comes next. The UI's panel is a
 * line or two lower than its text: important text comes first.
 */
export function describeJob(input: GenerationInput, result: GenerationResult, next: string): void {
  const price = result.priceUsd === undefined ? undefined : formatNano(BigInt(result.priceUsd));
  const state = result.refundId ? `${result.state}, refunded` : result.state;
  const lines = [
    `**${state}** · ${result.failure ? `${result.failure.code}: ` : ''}${next}`,
    '',
    `- price: ${price === undefined ? 'not charged' : `${price} USD${lengthOf(result)}`}`,
    ...(result.chargeId ? [`- charge: ${result.chargeId}`] : []),
    ...(result.refundId ? [`- refund: ${price} USD, ${result.refundId}`] : []),
    `- model: ${input.modelId} at ${input.provider}`,
    `- account: ${input.accountId}`,
    ...(input.kind === 'voice-changer' ? [`- voice: ${input.voice}`] : []),
    ...(input.kind === 'video' && input.mediaCount > 0 ? [`- media handed in: ${input.mediaCount}`] : []),
    `- request: ${input.requestId}`,
  ];
  setCurrentDetails(lines.join('\n'));
  upsertSearchAttributes({
    [SEARCH_ATTRIBUTES.state]: [result.refundId ? `${result.state}-refunded` : result.state],
    ...(price === undefined ? {} : { [SEARCH_ATTRIBUTES.costUsd]: [Number(price)] }),
  });
}

function lengthOf({ durationSeconds }: GenerationResult): string {
  return durationSeconds === undefined ? '' : ` for ${durationSeconds} s`;
}
