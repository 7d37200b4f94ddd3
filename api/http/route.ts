/**
 * A route as one table row: method and path, access, schemas of body and query, deadline, and the handler. The frame
 * does everything before the handler (credential, limits, body, schema) in this order, from the row.
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
import type { LimitSettings } from '../limits/callLimits.ts';
import type { Answer } from './answer.ts';
import type { RouteDescription } from './describe.ts';

/**
 * `open`: everybody, the credential is ignored; `key`: any API key; `admin`: a key of type ADMIN; `caller`: any API
 * key, or a wallet's sign-in; `buyer`: as `caller`, for paid routes: a caller that cannot pay the smallest price of the
 * route gets its 402 before its body is read (requireFunds.ts); `catalogue` and `quote`: as `key` and `caller`, but a
 * request without a credential is accepted where `catalogue.openWithoutKey` is set; `own-wallet`: a wallet's sign-in
 * only.
 */
export type Access = 'open' | 'key' | 'admin' | 'caller' | 'buyer' | 'catalogue' | 'quote' | 'own-wallet';

type CallerOf<A extends Access> = A extends 'open' | 'catalogue' | 'quote'
  ? Caller | undefined
  : A extends 'own-wallet'
    ? Caller & { wallet: Wallet }
    : Caller;

/** File parts: their name, their largest number, and their total size. */
export interface FileParts {
  name: string;
  /** Alternative name, as some clients write lists. */
  alsoNamed?: string;
  most: number;
  maxTotalBytes: number;
}

export interface MultipartSpec<Body> {
  /** Receives every text field as a string; duplicate fields are refused before it. */
  fields: z.ZodType<Body>;
  /** Largest size of each file part. */
  maxFileBytes: number;
  /**
   * Default: a field outside the schema is refused. With this list only its fields are read, and all others are
   * ignored, however many there are.
   */
  knownFields?: readonly string[];
  /** Default: one optional file, named `file`. */
  files?: FileParts;
}

export interface BodySpec<Body> {
  /** Use `z.strictObject`, which refuses unknown fields. */
  json?: {
    schema: z.ZodType<Body>;
    maxBytes: number;
    /** Long strings are files in base64: they are written to disk as they arrive, and a SpooledText stands for each. */
    spools?: { maxFileBytes: number };
    /** Renames fields to those of the schema before any check. */
    rewrite?(sent: unknown, config: Config): unknown;
  };
  multipart?: MultipartSpec<Body>;
  /** In place of both: the body as a Buffer, whatever its content type. */
  raw?: {
    maxBytes: number;
    /** The content type must be JSON, which the handler parses; the schema is for the description. */
    json?: z.ZodType;
  };
  /**
   * Fields that name the model, if not `model`: the first that is present counts, else the default that the schema or
   * the handler sets.
   */
  naming?: { fields: readonly string[]; otherwise?: string };
  /** `model` is checked before the schema (API-2). */
  needsModel?: boolean;
  /** Message for another content type, where the expected one would not help the sender. */
  wrongKind?: string;
  /** The body may be absent; the handler then gets undefined. */
  optional?: boolean;
  /** Model type whose aliases and traits `model` may be; without it only an id counts against that model's limits. */
  modelType?: ModelType;
}

/**
 * A file part. A small one is in memory, others are in private temporary files that the frame deletes on every way out.
 */
export interface UploadedFile {
  content: { bytes: Buffer } | { path: string };
  sizeBytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** Claimed content type; never trusted. */
  claimedContentType: string;
  claimedName: string;
}

export interface RouteRequest<Body, Query, A extends Access> {
  caller: CallerOf<A>;
  body: Body;
  /** First of the files. */
  file: UploadedFile | undefined;
  /** Only from a multipart body. */
  files: readonly UploadedFile[];
  query: Query;
  params: Record<string, string>;
  headers: IncomingHttpHeaders;
  /** Address of the client's connection, which no header can change, or the one that a trusted proxy names. */
  address: string;
  /** The media type with the highest weight in `Accept`; false when none is accepted. */
  accepts(...types: string[]): string | false;
  /** 32 hex characters, in `X-Request-ID`, in every log line, and usable as a trace id. */
  requestId: string;
  /** Aborted at the route's deadline and when the client goes away. */
  signal: AbortSignal;
  /** The same without a signal, which costs more: calls `act` then, or at once. Returns a function that cancels it. */
  whenGone(act: () => void): () => void;
  /**
   * The client disconnected by itself, neither by the deadline nor with the process. Known once `signal` is aborted.
   */
  readonly hasLeft: boolean;
  /** This process closed the connection; false for a client that left by itself. Creates no `signal`. */
  readonly isCutOff: boolean;
  /** The deadline has passed, and the client gets that error. */
  readonly expired: boolean;
  /** `undo` runs when the deadline has passed. The client gets the error after it has ended, and none if it fails. */
  beforeLoss(undo: () => Promise<void>): void;
  /** Aborted when this process was told to stop: a long answer ends then, in good order. */
  stopping: AbortSignal;
  /** Aborted later, before the process closes connections: a stream then ends with what it has, and says so. */
  ending: AbortSignal;
  /**
   * Counts the call against the limits of a model that answers in place of the named one; the tokens count for it
   * alone. Throws FareboxError `rate_limited`. Does nothing for the model that is counted already.
   */
  admitModel(modelId: string): Promise<void>;
  /**
   * For routes that count by themselves: takes the windows of the route and those of every call together, all or none.
   * The result is about the route's windows; throws FareboxError `rate_limited` for the others.
   */
  admitWith(own: LimitedCall): Promise<Admission>;
  /** Reports the tokens that were used, for the limit per minute. */
  noteTokens(used: number): Promise<void>;
  /** A dry run of a caller without funds: it gets a price only where the body alone determines it. */
  readonly lacksFunds: boolean;
  /**
   * Called before anything is fetched, decoded or parsed for a price: a dry run without funds gets no further. Throws
   * FareboxError `insufficient_balance` or `key_limit_exceeded`.
   */
  requireFunds(): void;
  /**
   * For the model that answers in place of the named one. Throws like `requireFunds` where only the named one is free.
   */
  requireFundsFor(model: Model): void;
  /** Part of the account's share of this process that the request uses; released when the handler has ended. */
  readonly share: RequestShare;
  /** Waits for an upstream: the time does not count in the metrics and in `overheadMs`. */
  waitFor<T>(work: Promise<T>): Promise<T>;
  /** Time that this service has added so far. */
  overheadMs(): number;
  log: Logger;
}

export interface ReplayName {
  accountId: string;
  /** Idempotency-Key. */
  key: string;
  /** Only orders of this key and its children count; null: all of the account. */
  visibleTo: string | null;
}

type RequestHead = Pick<RouteRequest<unknown, unknown, 'open'>, 'params' | 'address'>;

export interface RouteDefinition<Body, Query, A extends Access> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the base path; parameters as `{name}`. */
  path: string;
  /** The last parameter takes the rest of the path, which may contain slashes. */
  takesRestOfPath?: true;
  access: A;
  /** Answer to everybody while this deployment lacks what the route needs. */
  closed?(dependencies: Dependencies): Answer | undefined;
  /** Default: a body is neither expected nor read. */
  body?: BodySpec<Body>;
  /** Throws to refuse a request by its path and sender, before its body is read. */
  beforeBody?: (dependencies: Dependencies, head: RequestHead) => Promise<void>;
  /** For `buyer` routes: the models of `body.modelType` that it sells; default: all of them. */
  sells?(model: Model): boolean;
  /** For `buyer` routes without models: the price of one call; default: the smallest price that there is. */
  fixedPrice?(config: Config): LedgerPrice;
  /** The price depends on the media, also in a dry run: a caller without funds gets its 402 before the body is read. */
  pricesMedia?: true;
  /** For `buyer` routes with an Idempotency-Key: whether a request with this key was already accepted and paid. */
  isReplay?(sql: SqlClient, name: ReplayName): Promise<boolean>;
  /** Default: the query is ignored. */
  query?: z.ZodType<Query>;
  /** The route's refusals have headers of the same names as the rest of the budget of failures (LIMIT-14). */
  hidesBudget?: true;
  /** `jobs`: clients poll it, and it has the limit for that. */
  requestLimit?: 'jobs';
  /**
   * Windows of the route in place of those of all routes. The handler calls `admitWith` for every request; default: the
   * frame admits the call before the handler. An answer before the handler reports these windows.
   */
  ownWindows?(limits: LimitSettings, accountId: string): LimitedCall;
  /** For `open` routes: the holder of a valid key is known, for its limits. The answer is the same for everybody. */
  readsKey?: true;
  /** Most tokens that a call may use, for models with a token limit; `noteTokens` corrects it afterwards. */
  estimateTokens?(body: Body): number | Promise<number>;
  /** Time from the body to the beginning of the answer; after it the client gets `timed_out`. */
  deadlineMs?: number;
  /** Required for every route of the public API, which could not be described without it. */
  describes?: RouteDescription;
  handler(dependencies: Dependencies, request: RouteRequest<Body, Query, A>): Promise<Answer>;
}

/** Any route; `defineRoute` checked that its parts fit together. */
export type Route = RouteDefinition<unknown, unknown, Access>;

export const DEFAULT_DEADLINE_MS = 30_000;

export function defineRoute<A extends Access, Body = undefined, Query = undefined>(
  definition: RouteDefinition<Body, Query, A>,
): Route {
  return definition as Route;
}
