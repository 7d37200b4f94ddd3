/** Plan of a decision: calls of the model, their tokens, and the documented refusals of too many of either. */
import type { DecisionModel } from '../../../domain/catalogue/model.ts';
import { type Evaluation, evaluationOf } from '../../../domain/decisions/evaluation.ts';
import { messagesFor, questionText, textOf } from '../../../domain/decisions/prompt.ts';
import { labelsOf, optionsOf, type Question } from '../../../domain/decisions/question.ts';
import { longestRounds } from '../../../domain/decisions/rounds.ts';
import type { LedgerPrice } from '../../../domain/ledger.ts';
import { type ConfiguredProviders, findProvider } from '../../../domain/providerKind.ts';
import { boundOf } from '../../../domain/text/price.ts';
import { estimateTokens, MAX_LETTERS_PER_TOKEN, promptTokensOf } from '../../../domain/text/promptSize.ts';
import { countTokens } from '../../../engines/text/countTokens.ts';
import { estimateInTurns } from '../../../engines/text/estimateInTurns.ts';
import { invalid } from '../../http/invalid.ts';
import type { DecisionBody } from './decisionBody.ts';

/** Calls of one request, each paid for. Eight at a time end well before its deadline. */
const MAX_CALLS = 400;

export interface PlannedQuestion {
  id: string;
  question: Question;
  instructions: string;
  options: string[];
}

export interface DecisionPlan {
  evaluation: Evaluation;
  state: string;
  questions: PlannedQuestion[];
  /** Highest total of all calls. */
  promptTokens: number;
  completionTokens: number;
  bound: LedgerPrice;
}

/** Enough for a label, and for the quotes that some models add when they may write more than one token. */
const OUTPUT_TOKENS = { logprobs: 1, sampling: 4 } as const;

export function maxTokensOf({ method }: Evaluation): number {
  return OUTPUT_TOKENS[method];
}

/** Throws FareboxError `invalid_request`. Nothing is held yet. */
export async function planDecision(
  config: ConfiguredProviders,
  model: DecisionModel,
  body: DecisionBody,
): Promise<DecisionPlan> {
  const evaluation = evaluationOf(model, findProvider(config, model.provider)?.kind ?? {});
  const questions = Object.entries(body.questions).map(([id, question]) => ({
    ...{ id, question, instructions: textOf(question.instructions), options: optionsOf(question) },
  }));
  const state = textOf(body.state);
  const rounds = questions.map(({ options }) => longestRounds(options, evaluation.topLogprobs));
  const each = evaluation.method === 'sampling' ? evaluation.samples : 1;
  // A question with a single option needs no call, but counts.
  if (questions.length > MAX_CALLS) {
    throw invalid('questions', `At most ${MAX_CALLS} questions are possible, not ${questions.length}`);
  }
  const calls = each * rounds.reduce((sum, { length }) => sum + length, 0);
  if (calls > MAX_CALLS) {
    throw invalid('questions', `These questions take ${calls} calls of the model, ${MAX_CALLS} are possible`);
  }
  await refuseTooLong(model, state, questions);
  const around = promptTokensOf({ messages: messagesFor(state, '') });
  const promptTokens = calls * around + each * (await estimateInTurns(longestTexts(questions, rounds)));
  const completionTokens = calls * maxTokensOf(evaluation);
  const bound = boundOf(model.spec.pricing, { promptTokens, outputTokens: completionTokens });
  return { evaluation, state, questions, promptTokens, completionTokens, bound };
}

/** One at a time: together they can be hundreds of times the size of the request. */
function* longestTexts(questions: readonly PlannedQuestion[], rounds: readonly string[][][]): Generator<string> {
  for (const [at, planned] of questions.entries()) {
    for (const options of rounds[at] ?? []) yield longestText(planned, options);
  }
}

function longestText({ question, instructions, options: all }: PlannedQuestion, options: string[]): string {
  const labels = labelsOf(question.type, { count: options.length, whole: options.length === all.length });
  return questionText(
    instructions,
    options.map((words, at) => ({ label: labels[at] ?? '', words })),
  );
}

/** `maxStateTokens`: the state with its longest question; `maxTotalTokens`: with all of them (TEXT-29). */
async function refuseTooLong(
  { id, spec }: DecisionModel,
  state: string,
  questions: readonly PlannedQuestion[],
): Promise<void> {
  const { maxStateTokens: mostState = Infinity, maxTotalTokens: mostTotal = Infinity } = spec;
  const tooLong = ([ofState = 0, ...ofQuestions]: readonly number[], share = 1) => {
    if (ofState + Math.max(...ofQuestions) > mostState * share) {
      return invalid('state', `State and longest question exceed the maximum of ${mostState} tokens of ${id}`);
    }
    if (ofQuestions.reduce((sum, count) => sum + count, ofState) > mostTotal * share) {
      return invalid('questions', `State and questions exceed the maximum of ${mostTotal} tokens of ${id}`);
    }
    return undefined;
  };
  const texts = [state, ...questions.map(({ instructions, options }) => [instructions, ...options].join('\n'))];
  // The estimate is on the high side: most requests need no exact count.
  if (tooLong(texts.map(estimateTokens)) === undefined) return;
  const surely = tooLong(
    texts.map(({ length }) => length),
    MAX_LETTERS_PER_TOKEN,
  );
  if (surely) throw surely;
  const counts: number[] = [];
  for (const text of texts) counts.push(await countTokens(text));
  const found = tooLong(counts);
  if (found) throw found;
}
