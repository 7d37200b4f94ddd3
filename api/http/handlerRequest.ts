/** Request as its handler sees it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../../domain/caller.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import type { FareboxError } from '../../domain/errors.ts';
import type { AccountShares, RequestShare } from '../../infra/accountShares.ts';
import { callerNetwork } from '../../infra/http/callerNetwork.ts';
import type { Logger } from '../../infra/log.ts';
import type { Admission, LimitedCall } from '../../infra/redis/limiter.ts';
import type { ReadBody } from '../body/readBody.ts';
import type { CallLimits } from '../limits/callLimits.ts';
import { type FundsExemption, requireFreeModel } from '../paid/requireFunds.ts';
import type { QueryReader } from './queryReader.ts';
import type { ApiContext } from './requestState.ts';
import type { Route, RouteRequest, UploadedFile } from './route.ts';

export type RoutedContext = ApiContext & { params: Record<string, string> };

export interface RequestContext {
  route: Route;
  readQuery: QueryReader;
  ctx: RoutedContext;
  /** Undefined for unknown callers. */
  call: CallLimits | undefined;
  /** Address of the client, computed on demand. */
  address(): string;
  stopping: AbortSignal;
  ending: AbortSignal;
  cutting: AbortSignal;
  /** Set for a caller without funds whose request is free. */
  fundsExemption: FundsExemption | undefined;
  shares: AccountShares;
  /** Opened on first use. */
  share: RequestShare | undefined;
  /** Called when the answer was sent: the call is no longer in flight. */
  leave: (() => void) | undefined;
}

/** Owner of the budgets that a call counts against: the account, else the address. */
export function ownerOf({ ctx, address }: Pick<RequestContext, 'ctx' | 'address'>): string {
  return ctx.state.caller?.accountId ?? callerNetwork(address());
}

export function shareOf(context: RequestContext): RequestShare {
  context.share ??= context.shares.open(ownerOf(context));
  return context.share;
}

/** Time that the client takes to send its body does not count as ours. */
export async function awaitClient<T>({ state }: ApiContext, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work;
  } finally {
    state.waitedMs += performance.now() - startedAt;
  }
}

export function requestLimitOf({ ownWindows, requestLimit }: Route): 'jobs' | 'own' | undefined {
  return ownWindows ? 'own' : requestLimit;
}

/** Request for handlers. Costly members are created on demand (bench `front`). */
export class HandlerRequest implements RouteRequest<unknown, unknown, 'key'> {
  readonly body: unknown;
  readonly files: readonly UploadedFile[];
  readonly query: unknown;
  readonly stopping: AbortSignal;
  readonly ending: AbortSignal;
  readonly #context: RequestContext;
  readonly #ctx: RoutedContext;
  readonly #call: CallLimits | undefined;
  readonly #path: string;
  readonly #address: () => string;
  #controller: AbortController | undefined = undefined;
  #aborted: FareboxError | undefined = undefined;
  #hasLeft = false;
  /** Callbacks for the moment when no client waits any more. */
  #waiting: Set<() => void> | undefined = undefined;
  #undos: (() => Promise<void>)[] | undefined = undefined;

  constructor(context: RequestContext, query: unknown, read: ReadBody) {
    const { route, ctx, call, address, stopping, ending } = context;
    this.#context = context;
    this.#ctx = ctx;
    this.#call = call;
    this.#path = route.path;
    this.#address = address;
    this.stopping = stopping;
    this.ending = ending;
    this.query = query;
    this.body = read.body;
    this.files = read.files;
  }

  /** Open and catalogue routes have `Caller | undefined`; all others have a caller. */
  get caller(): Caller {
    return this.#ctx.state.caller as Caller;
  }

  get file(): UploadedFile | undefined {
    return this.files[0];
  }

  get params(): Record<string, string> {
    return this.#ctx.params;
  }

  get headers(): IncomingHttpHeaders {
    return this.#ctx.req.headers;
  }

  get address(): string {
    return this.#address();
  }

  /** A closure: handlers destructure the request. */
  get accepts(): (...types: string[]) => string | false {
    return (...types) => this.#ctx.accepts(...types);
  }

  get requestId(): string {
    return this.#ctx.state.requestId;
  }

  get log(): Logger {
    return this.#ctx.state.log;
  }

  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    this.whenGone(() => controller.abort(this.#aborted));
    return controller.signal;
  }

  get isCutOff(): boolean {
    const { res } = this.#ctx;
    if (res.destroyed) this.#noteDeparture();
    return res.destroyed && !this.#hasLeft;
  }

  get expired(): boolean {
    return this.#aborted !== undefined;
  }

  get hasLeft(): boolean {
    return this.#hasLeft && !this.expired;
  }

  beforeLoss(undo: () => Promise<void>): void {
    this.#undos ??= [];
    this.#undos.push(undo);
  }

  whenGone(act: () => void): () => void {
    const { res } = this.#ctx;
    if (this.#aborted || res.destroyed) {
      this.#noteDeparture();
      act();
      return () => undefined;
    }
    const waiting = this.#waiting ?? new Set();
    if (!this.#waiting) {
      this.#waiting = waiting;
      // A client that has the whole answer has not left: nothing is stopped then.
      res.once('close', () => {
        if (res.writableFinished) return;
        this.#noteDeparture();
        this.#leave();
      });
    }
    waiting.add(act);
    return () => waiting.delete(act);
  }

  /** A connection that the process closed does not count as a client that left. */
  #noteDeparture(): void {
    this.#hasLeft ||= !this.#context.cutting.aborted;
  }

  #leave(): void {
    for (const act of this.#waiting ?? []) act();
    this.#waiting?.clear();
  }

  /** A closure: handlers destructure the request. */
  get waitFor(): <T>(work: Promise<T>) => Promise<T> {
    return (work) => awaitClient(this.#ctx, work);
  }

  get overheadMs(): () => number {
    const { state } = this.#ctx;
    return () => performance.now() - state.startedAt - state.waitedMs;
  }

  get share(): RequestShare {
    return shareOf(this.#context);
  }

  releaseShare(): void {
    this.#context.share?.release();
  }

  get lacksFunds(): boolean {
    const { fundsExemption } = this.#context;
    return fundsExemption !== undefined && fundsExemption.by !== 'free model';
  }

  requireFunds(): void {
    if (this.lacksFunds) throw this.#context.fundsExemption?.lack;
  }

  requireFundsFor(model: Model): void {
    const { fundsExemption } = this.#context;
    if (fundsExemption) requireFreeModel(fundsExemption, model);
  }

  async admitModel(modelId: string): Promise<void> {
    await this.#call?.admitModel(modelId);
  }

  async admitWith(own: LimitedCall): Promise<Admission> {
    if (!this.#call) throw new Error('a call of nobody has no windows');
    const requestLimit = requestLimitOf(this.#context.route);
    return await this.#call.admitWith({ path: this.#path, model: undefined, requestLimit }, own);
  }

  async noteTokens(used: number): Promise<void> {
    await this.#call?.noteTokens(used);
  }

  abort(error: FareboxError): void {
    this.#aborted = error;
    this.#leave();
  }

  /** Runs after `abort`, also for work that the handler begins meanwhile. */
  async undo(): Promise<void> {
    await Promise.all((this.#undos ?? []).map((undo) => undo()));
  }

  /** Ends the connection without an answer. */
  cut(): void {
    this.#ctx.res.destroy();
  }
}
