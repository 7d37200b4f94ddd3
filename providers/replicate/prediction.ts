/**
 * A prediction, the reply of every operation, and the state of its order. Source: the schema `prediction_response` of
 * the service's OpenAPI description (api.replicate.com/openapi.json).
 */
import { z } from 'zod';
import type { FailedOutcome } from '../shared/provider.ts';
import type { MediumKind } from '../shared/queuedJobs.ts';
import { oneLine, parseJson } from '../shared/textFailures.ts';
import type { QueueState } from '../shared/waitFor.ts';

const prediction = z.object({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  status: z.string(),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  logs: z.unknown().optional(),
  data_removed: z.unknown().optional(),
  started_at: z.unknown().optional(),
});
export type Prediction = z.infer<typeof prediction>;

export type PredictionTicket = { id: string };

/** Undefined: the body is no prediction. */
export function readPrediction(body: Buffer): Prediction | undefined {
  const parsed = prediction.safeParse(parseJson(body));
  return parsed.success ? parsed.data : undefined;
}

/**
 * Unknown statuses count as running until the job's deadline. A prediction is `aborted` if its time ended before it
 * started, and `canceled` if it ended later or was cancelled in the service's console.
 */
export function stateOf(found: Prediction): QueueState<PredictionTicket, Prediction> {
  const ticket = { id: found.id };
  switch (found.status) {
    case 'succeeded':
      return { status: 'succeeded', ticket, result: found };
    case 'failed':
      return failure(found);
    case 'canceled':
    case 'aborted':
      return failedOutcome(`prediction ${found.id} was ${found.status}`);
    default:
      return { status: 'running', ticket, percent: percentOf(found) };
  }
}

/** URL of a succeeded prediction's output, or its failure. */
export function outputOf(found: Prediction, kind: MediumKind): { url: string } | FailedOutcome {
  const url = outputAddress(found.output, kind);
  if (url !== undefined) return { url };
  const why = found.data_removed === true ? 'its output was removed' : 'its output names no file';
  return failedOutcome(`prediction ${found.id} succeeded and ${why}`);
}

/** The service bills the run time, also of a cancelled prediction. One that never started is free. */
export function endedBeforeStart({ status, started_at: startedAt }: Prediction): boolean {
  return status === 'aborted' || (status === 'canceled' && startedAt === null);
}

/**
 * The cause of a failure must be inferred from one sentence. It may repeat the client's text, so only its code is
 * logged; the rest is in the service's console under the id.
 */
function failure({ id, error: reported }: Prediction): FailedOutcome {
  const error = typeof reported === 'string' ? reported : '';
  const words = oneLine(error);
  const detail = [`prediction ${id} failed`, ...(/\bE\d{3,4}\b/.exec(words) ?? [])].join(' ');
  if (isContentPolicy(error)) {
    const message = words || 'The provider refused the order under its content policy.';
    return { status: 'refused', reason: 'content_policy', message, detail };
  }
  // The service's input check, just before the model runs.
  if (/^Input validation error/i.test(words)) {
    return { status: 'refused', reason: 'refused', message: words, detail };
  }
  return failedOutcome(detail);
}

export function failedOutcome(detail: string): FailedOutcome {
  return { status: 'refused', reason: 'failed', message: 'The provider failed.', detail };
}

const LOG_TAIL = 4_096;

/** Models print progress in the form of tqdm, `42%|████ | 21/50`; the last one counts. */
function percentOf({ logs }: Prediction): number | undefined {
  if (typeof logs !== 'string') return undefined;
  const last = [...logs.slice(-LOG_TAIL).matchAll(/(?<![\d.])(\d{1,3})(?:\.\d+)?%/g)].at(-1)?.[1];
  const percent = Number(last);
  return last === undefined || percent > 100 ? undefined : Math.min(99, percent);
}

/** Limits for collecting the URLs of an output: one, a list, or an object. */
const MAX_ADDRESSES = 50;
const MAX_DEPTH = 4;
const MAX_ADDRESS_LENGTH = 4_096;

const ENDINGS: Record<MediumKind, RegExp> = {
  audio: /\.(mp3|wav|flac|ogg|opus|m4a|aac)$/i,
  video: /\.(mp4|mov|webm|mkv|m4v)$/i,
};

/**
 * Prefers a URL with an extension of the kind, because a model may add a cover or a preview; else the first URL.
 * Undefined: none. The fetched file is checked by its signature.
 */
export function outputAddress(output: unknown, kind: MediumKind): string | undefined {
  const addresses = outputAddresses(output);
  return addresses.find((address) => ENDINGS[kind].test(new URL(address).pathname)) ?? addresses[0];
}

/** All URLs in their order. */
export function outputAddresses(output: unknown): string[] {
  const addresses: string[] = [];
  collect(output, addresses, 0);
  return addresses;
}

function collect(value: unknown, addresses: string[], depth: number): void {
  if (addresses.length >= MAX_ADDRESSES || depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    if (isAddress(value)) addresses.push(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) collect(each, addresses, depth + 1);
  }
}

function isAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS_LENGTH && /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** Longest text that is searched. */
const MAX_READ = 2_000;

/**
 * Texts by which models refuse content, because there is no field for it: E005 of hosted models ("flagged as
 * sensitive"), and the replies of their makers' own filters.
 */
const CONTENT_POLICY =
  /\bE005\b|flagged (as|by|for)|sensitive (content|information|words)|inappropriate content|prohibited content|content[ _-](policy|filter|moderation)|moderation[ _](blocked|rejected|failed)|\bnsfw\b|safety (filter|system|checker|polic|guideline)|responsible ai|risk control/i;

export function isContentPolicy(words: string): boolean {
  return CONTENT_POLICY.test(words.slice(0, MAX_READ));
}
