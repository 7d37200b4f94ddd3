/** Sends all questions of a request to a decision model in parallel; the first failure ends all of them. */
import { type DecisionModel, upstreamNameOf } from '../../../domain/catalogue/model.ts';
import { fromLogprobs, fromSamples } from '../../../domain/decisions/evidence.ts';
import { messagesFor, questionText } from '../../../domain/decisions/prompt.ts';
import { type DecisionAnswer, decisionAnswerOf, labelsOf } from '../../../domain/decisions/question.ts';
import { inRounds } from '../../../domain/decisions/rounds.ts';
import type { ChatRequest, Completion, TokenUsage } from '../../../domain/text/chat.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { allOrNone } from '../../../infra/allOrNone.ts';
import type { TextProvider } from '../../../providers/shared/textProvider.ts';
import type { ModelCall } from '../modelCall.ts';
import { type CountedUsage, countCompletion } from '../tally.ts';
import { type DecisionPlan, maxTokensOf, type PlannedQuestion } from './decisionPlan.ts';

/** Calls of one request that run at the same time. */
const SIDE_BY_SIDE = 8;

export interface EvaluationInput {
  call: ModelCall<DecisionModel, DecisionPlan>;
  complete: NonNullable<TextProvider['complete']>;
  endUser: string;
  /** Grows with every answered call, also when a later one fails. */
  tally: DecisionTally;
}

export class DecisionTally {
  #usage: Required<TokenUsage> = {
    ...{ promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, hourCacheWriteTokens: 0 },
    ...{ completionTokens: 0, reasoningTokens: 0 },
  };
  #counted = false;

  add({ usage, counted }: CountedUsage): void {
    for (const kind of Object.keys(this.#usage) as (keyof TokenUsage)[]) this.#usage[kind] += usage[kind] ?? 0;
    this.#counted ||= counted;
  }

  /** Sum of all calls so far. */
  sum(): CountedUsage {
    return { usage: { ...this.#usage }, counted: this.#counted };
  }
}

/** Throws UpstreamFailure; then no call is running. */
export async function evaluate(terms: EvaluationInput): Promise<Record<string, DecisionAnswer>> {
  const gate = new Gate(SIDE_BY_SIDE);
  const works = terms.call.questions.map((planned) => async (signal: AbortSignal) => {
    const indices = planned.options.map((_, at) => at);
    const ask = (asked: readonly number[]) => probabilitiesOf({ ...terms, gate, signal }, planned, asked);
    const probabilities = await inRounds(indices, terms.call.evaluation.topLogprobs, ask);
    return [planned.id, decisionAnswerOf(planned.question, probabilities)] as const;
  });
  try {
    return Object.fromEntries(await allOrNone(terms.call.signal, works));
  } catch (error) {
    // A question ends with its first failed sample, while the others still run.
    await gate.empty();
    throw error;
  }
}

interface EvaluationContext extends EvaluationInput {
  gate: Gate;
  signal: AbortSignal;
}

async function probabilitiesOf(
  context: EvaluationContext,
  { question, instructions, options }: PlannedQuestion,
  asked: readonly number[],
): Promise<number[]> {
  const { evaluation, state } = context.call;
  const labels = labelsOf(question.type, { count: asked.length, whole: asked.length === options.length });
  const shown = asked.map((index, at) => ({ label: labels[at] ?? '', words: options[index] ?? '' }));
  const request = requestFor(context, messagesFor(state, questionText(instructions, shown)));
  if (evaluation.method === 'logprobs') {
    const { choices } = await complete(context, request);
    const token = choices[0]?.logprobs?.[0];
    if (token === undefined) throw notUsable('no log probabilities: its entry needs "evaluation.method": "sampling"');
    return fromLogprobs(labels, token) ?? unlabelled();
  }
  const answers = await Promise.all(Array.from({ length: evaluation.samples }, () => complete(context, request)));
  const texts = answers.map(({ choices }) => choices[0]?.message.content ?? '');
  return fromSamples(labels, texts) ?? unlabelled();
}

function unlabelled(): never {
  throw notUsable('none of the labels that it was asked for');
}

function notUsable(detail: string): UpstreamFailure {
  return new UpstreamFailure({ reason: 'garbage', detail: `the answer has ${detail}` });
}

function requestFor({ call, endUser }: EvaluationContext, messages: ChatRequest['messages']): ChatRequest {
  const { evaluation, attempt } = call;
  const sampled = evaluation.method === 'sampling';
  return {
    upstreamModel: upstreamNameOf(attempt.model),
    messages,
    sampling: { temperature: sampled ? 1 : 0 },
    n: 1,
    maxTokens: maxTokensOf(evaluation),
    endUser,
    ...(sampled ? {} : { logprobs: { top: evaluation.topLogprobs } }),
    ...(evaluation.turnOffThinking ? { reasoning: { enabled: false } } : {}),
  };
}

function complete({ gate, signal, complete, tally }: EvaluationContext, request: ChatRequest): Promise<Completion> {
  return gate.run(async () => {
    if (signal.aborted) throw new UpstreamFailure({ reason: 'lost', detail: 'not sent: nobody waits for it' });
    const completion = await complete(request, { signal });
    tally.add(await countCompletion(request, completion));
    return completion;
  });
}

/** Semaphore with waiters in order. */
class Gate {
  readonly #most: number;
  #inside = 0;
  readonly #waiting: (() => void)[] = [];
  #emptied: (() => void) | undefined = undefined;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#most) this.#inside += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#leave();
    }
  }

  /** Resolves when all permits are free. */
  async empty(): Promise<void> {
    if (this.#inside === 0) return;
    await new Promise<void>((resolve) => {
      this.#emptied = resolve;
    });
  }

  #leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#emptied?.();
  }
}
