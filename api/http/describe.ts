/** Description of a route, from which `/openapi.json` is made. */
import { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';

/** Groups of routes, in display order. */
export const GROUPS = {
  Text: 'Conversations and embeddings.',
  Augment: 'Pages, searches and documents, for models and their users.',
  Blockchains: 'Calls to the nodes of many networks, paid by the call.',
  Images: 'New pictures, edited ones, larger ones, and ones without their background.',
  'Voice changer': 'A recording in another voice: quote, queue, retrieve, complete.',
  Audio: 'Music, sounds and speech from words: quote, queue, retrieve, complete.',
  Speech: 'Words from a recording and a recording from words, while you wait.',
  Video: 'Moving pictures from words and media, and larger ones from small: quote, queue, retrieve, complete.',
  Jobs: 'Every queued job: where it stands, what it cost, what happened when.',
  Webhooks: 'What a client is told about its jobs: the secret that signs it, and how each delivery went.',
  Catalogue: 'Models with their prices, names that stand for them, and characters.',
  Keys: 'API keys: what they may call, what they may spend, and how long.',
  Limits: 'Requests and tokens per minute, and what was refused because of them.',
  Wallets: 'Payments by wallets, and what those have.',
  Billing: 'What the account can spend, and what it has spent on what.',
  Audit: 'Every administrative act on the account.',
} as const;
type Group = keyof typeof GROUPS;

/** One possible body of an answer. */
interface AnswerBody {
  /** Left out for bytes. */
  schema?: z.ZodType;
  /** Default: application/json. */
  mediaType?: string;
}

export interface AnswerDescription {
  means: string;
  bodies: readonly AnswerBody[];
  headers?: Readonly<Record<string, string>>;
}

/** A call that works as written against `npm start`. `$NAME` is a shell variable that `before` sets. */
export interface Example {
  before?: readonly string[];
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  json?: Readonly<Record<string, unknown>>;
  /** Multipart values as curl's `-F` takes them; a file is `@path`. */
  form?: Readonly<Record<string, string>>;
  /** File to which curl writes the bytes of the answer. */
  output?: string;
}

export interface RouteDescription {
  group: Group;
  /** Unique, camelCase: the name of the method in generated clients. */
  operationId: string;
  summary: string;
  /** Markdown. */
  description?: string;
  /** Stage of a route that can change without notice (API-15). */
  stage?: 'alpha' | 'beta' | 'experimental';
  /** Setting that the configuration needs before this route serves anything. */
  setting?: string;
  params?: z.ZodObject;
  /** By status. */
  answers: Readonly<Record<number, AnswerDescription>>;
  /** Errors beyond those that follow from access and body. */
  errors?: readonly ErrorCode[];
  example: Example;
}

/** Request headers of every queue route. */
export const ORDER_HEADERS =
  ' `Cancel-After` (`30s`, `5m`, `1h` or seconds, from 5 seconds to 24 hours) cancels and refunds a job that takes longer, ' +
  'within the refunds of the day (see `POST /jobs/{queue_id}/cancel`). ' +
  '`Prefer: wait=N` (1 to 60 seconds) holds the answer back until the job is over or the time is.';

/** Response headers of a queue route that waited. */
export const WAITED_HEADERS = {
  'Preference-Applied': '`wait=N` when `Prefer: wait=N` was followed.',
  'x-service-job-state': 'Of the job when that wait ended: `stored`, `failed`, `submitted`, …',
};

/** Request headers of every retrieve route. */
export const RETRIEVE_HEADERS =
  ' With `Prefer: wait=N` (1 to 60 seconds) the answer waits until there is more to say than progress, or the time is over.';

/** One JSON answer with status 200. */
export function answersWith(schema: z.ZodType, means = 'OK'): RouteDescription['answers'] {
  return { 200: { means, bodies: [{ schema }] } };
}

/** A list in the form of all routes. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ object: z.literal('list'), data: z.array(item) });
}

export const isoTime = z.string().meta({ format: 'date-time', description: 'UTC.' });
export const uuid = z.string().meta({ format: 'uuid' });

/** Shell function that prints the first string field of this name in the output before the pipe. */
export const FIELD = `field() { grep -o "\\"$1\\":\\"[^\\"]*\\"" | head -n 1 | cut -d'"' -f4; }`;

/** Orders a voice change: `$QUEUE_ID` is the job. */
export const AN_ORDERED_JOB = orderedJobCommands();

/** The same with a further form field, as curl's `-F` takes it. */
export function orderedJobCommands(field?: string): readonly string[] {
  const further = field === undefined ? '' : ` -F ${field}`;
  return [
    FIELD,
    `QUEUE_ID=$(curl -sS "$FAREBOX_URL/audio/voice-changer/queue" -H "Authorization: Bearer $FAREBOX_API_KEY" \\
  -F model=local-voice-changer -F 'file=@dev/stack/demo/recording.mp3;type=audio/mpeg'${further} | field queue_id)`,
  ];
}

/** Commands that wait until the job of `$QUEUE_ID` has its media; `retrieve` alone would answer with progress. */
export const UNTIL_STORED = `until curl -sS "$FAREBOX_URL/jobs/$QUEUE_ID" -H "Authorization: Bearer $FAREBOX_API_KEY" | grep -q '"state":"stored"'
do sleep 1; done`;

/** Commands that order a job with a JSON body and set `$QUEUE_ID`. */
export function orderCommands(path: string, body: Readonly<Record<string, unknown>>): readonly string[] {
  return [
    FIELD,
    `QUEUE_ID=$(curl -sS "$FAREBOX_URL${path}" -H "Authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' | field queue_id)`,
  ];
}
