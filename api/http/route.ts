/**
 * A route as one table row: method and path, who may call, what the body and the query must look like, how long it may
 * take, and the handler, which is the only part that tells a story. Everything before the handler (credential, limits,
 * body, schema) is done by the frame, in this order, from what the row says.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Caller } from '../../domain/caller.ts';
import type { Model, ModelType } from '../../domain/catalogue/model.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import type { Wallet } from '../../domain/wallets.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Logger } from '../../infra/log.ts';
import type { SqlClient } from '../../infra/postgres/pool.ts';
import type { Admission, LimitedCall } from '../../infra/redis/limiter.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Answer } from './answer.ts';
import type { RouteDescription } from './describe.ts';

/**
 * `open`: everybody, a credential is not even looked at; `key`: any API key; `admin`: a key of type ADMIN; `caller`: any
 * API key, or a wallet's sign-in; `buyer`: as `caller`, for what costs something: a caller that cannot pay the smallest
 * price of the route gets its 402 before its body is read (requireFunds.ts); `catalogue` and `quote`: as `key` and `caller`, but where the configuration says
 * `catalogue.openWithoutKey` no credential is one, too; `own-wallet`: a wallet's sign-in and nothing else.
 */
export type Access = 'open' | 'key' | 'admin' | 'caller' | 'buyer' | 'catalogue' | 'quote' | 'own-wallet';

type CallerOf<A extends Access> = A extends 'open' | 'catalogue' | 'quote'
  ? Caller | undefined
  : A extends 'own-wallet'
    ? Caller & { wallet: Wallet }
    : Caller;

/** The parts that are files: their name, how many there may be, and their bytes together. */
export interface FileParts {
  name: string;
  /** Another name for the same, as some clients write lists. */
  alsoNamed?: string;
  most: number;
  maxTotalBytes: number;
}

export interface MultipartSpec<Body> {
  /** Gets every text field as a string; fields sent twice are refused before it. */
  fields: z.ZodType<Body>;
  /** Largest size of each file part. */
  maxFileBytes: number;
  /**
   * Left out: a field that is not of the schema is refused. Otherwise the only ones that are read; all others are passed
   * over, however often they come.
   */
  knownFields?: readonly string[];
  /** Left out: one optional file, named `file`. */
  files?: FileParts;
}

export interface BodySpec<Body> {
  /** Use `z.strictObject`, so that an unknown field is refused. */
  json?: {
    schema: z.ZodType<Body>;
    maxBytes: number;
    /** Long strings are files in base64: they go to disk as they arrive, and a SpooledText stands for each of them. */
    spools?: { maxFileBytes: number };
    /** Brings other names of fields to those of the schema, before anything is looked at. */
    rewrite?(sent: unknown, config: Config): unknown;
  };
  multipart?: MultipartSpec<Body>;
  /** Instead of both: a Buffer of what arrived, whatever kind it says it is. */
  raw?: {
    maxBytes: number;
    /** It must be announced as JSON, which the handler reads in its own way; the schema is for those who call. */
    json?: z.ZodType;
  };
  /**
   * Where the model is named, if not in `model`: the first of these fields that is there counts, else the default, which
   * the schema or the handler puts in its place.
   */
  naming?: { fields: readonly string[]; otherwise?: string };
  /** `model` is checked before the schema (API-2). */
  needsModel?: boolean;
  /** The words about a body of another kind, where what it is to be would not help its sender. */
  wrongKind?: string;
  /** A request may come without a body, which the handler sees as undefined. */
  optional?: boolean;
  /** Whose foreign names and traits `model` may be; without it only an id counts against that model's limits. */
  modelType?: ModelType;
}

/** A file part. A small one is in memory, another in a private temporary file that the frame deletes on every way out. */
export interface UploadedFile {
  content: { bytes: Buffer } | { path: string };
  sizeBytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** What the client claims; never believed. */
  claimedContentType: string;
  claimedName: string;
}

export interface RouteRequest<Body, Query, A extends Access> {
  caller: CallerOf<A>;
  body: Body;
  /** The first of the files. */
  file: UploadedFile | undefined;
  /** Only from a multipart body. */
  files: readonly UploadedFile[];
  query: Query;
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** Of the client's end of the connection, which no header can change, or whom a trusted proxy names. */
  address: string;
  /** The one of these media types that the client likes best by its `Accept`; false when it takes none of them. */
  accepts(...types: string[]): string | false;
  /** 32 hex characters, in `X-Request-ID`, in every log line, and usable as a trace id. */
  requestId: string;
  /** Aborted at the route's deadline and when the client goes away. */
  signal: AbortSignal;
  /** The same for who needs no signal, which costs more: calls `act` then, or at once. Answers how to take that back. */
  whenGone(act: () => void): () => void;
  /** The client went away by itself: its call ended neither by its deadline nor with the process. Known once `signal` is. */
  readonly hasLeft: boolean;
  /** This process has cut the connection; a client that left by itself is not cut off. Creates no `signal`. */
  readonly isCutOff: boolean;
  /** The deadline has passed, and the client is told so. */
  readonly expired: boolean;
  /** `undo` runs when the deadline has passed. The client is told so when it has ended, and not if it fails. */
  beforeLoss(undo: () => Promise<void>): void;
  /** Aborted when this process was told to stop: an answer that could go on for long ends then, in good order. */
  stopping: AbortSignal;
  /** Aborted later, before the process cuts what is left: a stream ends then with what it has, and says so. */
  ending: AbortSignal;
  /**
   * Counts the call against the limits of this model, which is to answer in place of the one that was named; the tokens
   * count for it alone. Throws FareboxError `rate_limited`. Nothing happens for the model that is counted already.
   */
  admitModel(modelId: string): Promise<void>;
  /**
   * For routes that count by themselves: asks the windows of the route together with those of every call, all or none. The
   * answer is of the route's; throws FareboxError `rate_limited` for the others.
   */
  admitWith(own: LimitedCall): Promise<Admission>;
  /** The tokens that were really used; the limit per minute goes by them. */
  noteTokens(used: number): Promise<void>;
  /** A dry run of a caller without funds: the price is told where the body alone says it. */
  readonly lacksFunds: boolean;
  /**
   * To be called before anything is fetched, decoded or parsed for a price: a dry run gets this far without funds.
   * Throws FareboxError `insufficient_balance` or `key_limit_exceeded`.
   */
  requireFunds(): void;
  /** For the model that answers in place of the named one: throws as `requireFunds` where only the named one is free. */
  requireFundsFor(model: Model): void;
  /** What this request takes of its account's share of the process; released when the handler has ended. */
  readonly share: RequestShare;
  /** Waits for somebody else: that time is not ours, in the figures and in `overheadMs`. */
  waitFor<T>(work: Promise<T>): Promise<T>;
  /** What this service itself has added so far. */
  overheadMs(): number;
  log: Logger;
}

export interface ReplayName {
  accountId: string;
  /** Idempotency-Key. */
  key: string;
  /** Only what this key and its children ordered counts; null: all of the account. */
  visibleTo: string | null;
}

type RequestHead = Pick<RouteRequest<unknown, unknown, 'open'>, 'params' | 'address'>;

export interface RouteDefinition<Body, Query, A extends Access> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to `/api/v1`; parameters as `{name}`. */
  path: string;
  access: A;
  /** The answer to everybody, whoever they are, while this deployment does not have what the route is about. */
  closed?(dependencies: Dependencies): Answer | undefined;
  /** Left out: a body is neither expected nor read. */
  body?: BodySpec<Body>;
  /** Throws to refuse a request by its path and sender alone: its body is then neither asked for nor read. */
  beforeBody?: (dependencies: Dependencies, head: RequestHead) => Promise<void>;
  /** Of a `buyer` route: which models of `body.modelType` it sells; left out: all of them. */
  sells?(model: Model): boolean;
  /** Of a `buyer` route that sells no models: what one call costs; left out: the smallest price that there is. */
  fixedPrice?(config: Config): LedgerPrice;
  /** Its price is that of the media, also in a dry run: a caller without funds gets its certain 402 before the body is read. */
  pricesMedia?: true;
  /** Of a `buyer` route that takes an Idempotency-Key: whether a request with this key was already accepted and paid. */
  isReplay?(sql: SqlClient, name: ReplayName): Promise<boolean>;
  /** Left out: the query is ignored. */
  query?: z.ZodType<Query>;
  /** `refusals`: only a 429 reports the limits (LIMIT-14); left out: every answer does. */
  limitHeaders?: 'refusals';
  /** `jobs`: clients ask it again and again about their jobs, and it has the limit for that. */
  requestLimit?: 'jobs';
  /** Its handler calls `admitWith`, whatever was sent; left out: the call is admitted before the handler is asked. */
  countsItself?: true;
  /** What a call may use in tokens at most, for models that are limited by them; `noteTokens` corrects it afterwards. */
  estimateTokens?(body: Body): number | Promise<number>;
  /** From the moment the body is read until the answer begins; past it the client gets `timed_out`. */
  deadlineMs?: number;
  /** Every route of the public API has one, or the API's own description cannot be made. */
  describes?: RouteDescription;
  handler(dependencies: Dependencies, request: RouteRequest<Body, Query, A>): Promise<Answer>;
}

/** Any route; what is inside fits together because `defineRoute` checked it. */
export type Route = RouteDefinition<unknown, unknown, Access>;

export const DEFAULT_DEADLINE_MS = 30_000;

export function defineRoute<A extends Access, Body = undefined, Query = undefined>(
  definition: RouteDefinition<Body, Query, A>,
): Route {
  return definition as Route;
}
