/** Serves one route: credential, query, body, handler within its deadline, answer. The order is the same for all. */

import type { IncomingHttpHeaders } from 'node:http';
import type { RouterMiddleware } from '@koa/router';
import type { Caller } from '../domain/caller.ts';
import { FareboxError } from '../domain/errors.ts';
import { callerNetwork } from '../infra/http/callerNetwork.ts';
import type { Logger } from '../infra/log.ts';
import type { Holding } from '../infra/media/heldBytes.ts';
import type { WorkFolders } from '../infra/media/workFolders.ts';
import type { Admission, LimitedCall } from '../infra/redis/limiter.ts';
import { type Answer, releasing, withdrawAnswer } from './answer.ts';
import { type Authentication, authenticate } from './auth/authenticate.ts';
import { type ReadBody, readBody } from './body/readBody.ts';
import type { Dependencies } from './dependencies.ts';
import { errorStatus, toFareboxError } from './errors.ts';
import { isDryRun } from './fixedPrice.ts';
import { type FreePass, requireFreeModel, requireFunds } from './fundsGate.ts';
import { type CallLimits, openCall } from './limits/callLimits.ts';
import { readQuery } from './readQuery.ts';
import type { ApiContext, RequestState } from './requestState.ts';
import { type Respond, setHeaders } from './respond.ts';
import { DEFAULT_DEADLINE_MS, type Route, type RouteRequest, type UploadedFile } from './route.ts';
import type { InFlight } from './server/inFlight.ts';
import { serveWallet } from './walletCall.ts';

export interface Frame {
  dependencies: Dependencies;
  authentication: Authentication;
  folders: WorkFolders;
  inFlight: InFlight;
  respond: Respond;
}

type RoutedContext = ApiContext & { params: Record<string, string> };

export function serve(frame: Frame, route: Route): RouterMiddleware<RequestState> {
  const { proxies } = frame.dependencies;
  return async function serveRoute(context) {
    const ctx = context as unknown as RoutedContext;
    ctx.state.route = route.path;
    const closed = route.closed?.(frame.dependencies);
    if (closed) return await frame.respond(ctx, closed);
    const address = () => proxies.clientOf(ctx.req);
    if (route.access !== 'open') {
      const { rawHeaders } = ctx.req;
      const knock = { rawHeaders, path: ctx.path, access: route.access, address };
      const identified = await authenticate(frame.authentication, knock);
      if ('answer' in identified) return await frame.respond(ctx, identified.answer);
      ctx.state.caller = identified.caller;
    }
    const { caller } = ctx.state;
    const call = caller && openCall(frame.dependencies.limits, caller);
    const { stopping, ending } = frame.inFlight;
    const visit: Visit = { route, ctx, call, address, stopping, ending, freePass: undefined, leave: undefined };
    const work = () => answer(frame, visit);
    const served =
      call && caller?.wallet
        ? () => serveWallet(frame.dependencies, { accountId: caller.accountId, ctx, call, address }, work)
        : work;
    try {
      await frame.respond(ctx, await counted(visit, served));
    } finally {
      visit.leave?.();
    }
  };
}

/** Tells the limits how a call ended, before its answer begins: the next one may already be waiting for that. */
async function counted({ route, ctx, call }: Visit, work: () => Promise<Answer>): Promise<Answer> {
  let tells = route.limitHeaders !== 'refusals';
  try {
    const given = await work();
    if (call && isDryRun(ctx.req)) await call.noteTokens(0);
    const noting = call?.ended(given.status, undefined);
    if (noting) await noting;
    return given;
  } catch (thrown) {
    const { code } = toFareboxError(thrown);
    tells ||= code === 'rate_limited';
    if (call && thrown instanceof FareboxError && thrown.limitType) call.noteRefusal(thrown.limitType);
    await call?.ended(errorStatus(code), code);
    await call?.noteTokens(0);
    throw thrown;
  } finally {
    if (call && tells) setHeaders(ctx.res, call.headers);
  }
}

interface Visit {
  route: Route;
  ctx: RoutedContext;
  /** Undefined for callers that nobody knows. */
  call: CallLimits | undefined;
  /** The client's; worked out when it is asked for. */
  address(): string;
  stopping: AbortSignal;
  ending: AbortSignal;
  /** The caller cannot pay, and asks for what costs nothing. */
  freePass: FreePass | undefined;
  /** The answer has been sent: the call is in flight no longer. */
  leave: (() => void) | undefined;
}

/** Reads what was sent and asks the handler. An uploaded file is gone when the handler is, also when that is late. */
async function answer(frame: Frame, visit: Visit): Promise<Answer> {
  const { route, ctx, call } = visit;
  if (route.access === 'admin' && ctx.state.caller?.keyType !== 'ADMIN') {
    // The key is known, so its failures count: asking on and on is no way to keep the door busy.
    await admit(visit, undefined);
    throw new FareboxError({ code: 'admin_key_required', message: 'Admin API key required' });
  }
  // Wallets are counted over all processes (walletCall.ts).
  if (call && !ctx.state.caller?.wallet) visit.leave = call.enter();
  const checked = checkFunds(frame, visit);
  if (checked) visit.freePass = await checked;
  if (!route.body || (route.body.optional && !hasBody(ctx))) {
    if (!route.countsItself) await admit(visit, undefined);
    const query = readQuery(route, ctx);
    return await withinDeadline(frame, { route, request: new Request(visit, query, NO_BODY) });
  }
  let model: string | undefined;
  let folder: string | undefined;
  const createFolder = async () => {
    folder ??= await frame.folders.create();
    return folder;
  };
  const removeFolder = async () => {
    if (folder !== undefined) await frame.folders.remove(folder);
  };
  await route.beforeBody?.(frame.dependencies, {
    params: ctx.params,
    address: visit.address(),
  });
  const holding = openHolding(frame, visit);
  askForBody(ctx);
  let read: ReadBody | undefined;
  let request: Request;
  try {
    const noteModel = (named: string) => {
      model = named;
    };
    read = await awaited(
      ctx,
      readBody(ctx.req, route.body, { createFolder, noteModel, holding, config: frame.dependencies.config }),
    );
    if (!route.countsItself) await admit(visit, model, read);
    if (visit.freePass && model !== undefined) {
      requireFreeModel(visit.freePass, frame.dependencies.limits.modelOf(model, route.body.modelType));
    }
    request = new Request(visit, readQuery(route, ctx), read);
  } catch (error) {
    holding.release();
    await removeFolder();
    // What was refused before it could be counted is counted now, and refused for that when there was too much of it.
    if (!read) await admit(visit, model);
    throw error;
  }
  return await withinDeadline(frame, { route, request, cleanUp: removeFolder, holding });
}

/** What the caller's body takes of the process's memory, with its other bodies. */
function openHolding({ dependencies }: Frame, { ctx, address }: Visit): Holding {
  return dependencies.bodyBudget.open(ctx.state.caller?.accountId ?? callerNetwork(address()));
}

/** Undefined at once for a caller that is known to have funds. What is refused for want of them is counted, too. */
function checkFunds({ dependencies }: Frame, visit: Visit): Promise<FreePass | undefined> | undefined {
  const { route, ctx } = visit;
  const { caller } = ctx.state;
  if (route.access !== 'buyer' || !caller) return undefined;
  const { headers } = ctx.req;
  return requireFunds(dependencies, { route, caller, headers })?.catch(async (error) => {
    await admit(visit, undefined);
    throw error;
  });
}

/** What the client takes to send its body is none of our time. */
async function awaited<T>({ state }: ApiContext, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work;
  } finally {
    state.waitedMs += performance.now() - startedAt;
  }
}

async function admit({ route, call }: Visit, model: string | undefined, read?: ReadBody): Promise<void> {
  const estimatedTokens = read && route.estimateTokens?.(read.body);
  await call?.admit({
    path: route.path,
    model,
    modelType: route.body?.modelType,
    requestLimit: requestLimitOf(route),
    ...(estimatedTokens === undefined ? {} : { estimatedTokens }),
  });
}

function requestLimitOf({ countsItself, requestLimit }: Route): 'jobs' | 'own' | undefined {
  return countsItself ? 'own' : requestLimit;
}

const NO_BODY: ReadBody = { body: undefined, files: [] };

/** HTTP/1.1: a request has a body when one of these two headers says so. */
function hasBody({ req }: ApiContext): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** A client that waits to be asked for its body was not asked before its credential was accepted. */
function askForBody(ctx: ApiContext): void {
  if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
}

interface Call {
  route: Route;
  request: Request;
  /** Runs when the handler is through, also when that is too late for the client. */
  cleanUp?: () => Promise<void>;
  /** Of the body, until its answer has ended: the stream of an answer keeps it, too. */
  holding?: Holding;
}

async function withinDeadline(frame: Frame, call: Call): Promise<Answer> {
  const deadlineMs = call.route.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const work = run(frame, call);
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const error = tooLate(deadlineMs);
      call.request.abort(error);
      // Nobody waits for it any more, but it may hold a file or money: the process does not end before it has.
      frame.inFlight.track(work.then(withdrawAnswer));
      reject(error);
    }, deadlineMs);
    work.then(
      (answer) => {
        clearTimeout(timer);
        resolve(answer);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

async function run({ dependencies }: Frame, { route, request, cleanUp, holding }: Call): Promise<Answer> {
  try {
    const answer = await route.handler(dependencies, request);
    return releasing(answer, () => holding?.release());
  } catch (error) {
    holding?.release();
    throw error;
  } finally {
    await cleanUp?.();
  }
}

function tooLate(deadlineMs: number): FareboxError {
  return new FareboxError({
    code: 'timed_out',
    message: 'The request took too long.',
    internal: `no answer after ${deadlineMs} ms`,
  });
}

/** What handlers see of a request. The dearer members are made when they are asked for. */
class Request implements RouteRequest<unknown, unknown, 'key'> {
  readonly body: unknown;
  readonly files: readonly UploadedFile[];
  readonly query: unknown;
  readonly stopping: AbortSignal;
  readonly ending: AbortSignal;
  readonly #visit: Visit;
  readonly #ctx: RoutedContext;
  readonly #call: CallLimits | undefined;
  readonly #path: string;
  readonly #address: () => string;
  #controller: AbortController | undefined = undefined;
  #aborted: FareboxError | undefined = undefined;
  /** What is to be done when nobody waits any more. */
  #waiting: Set<() => void> | undefined = undefined;

  constructor(visit: Visit, query: unknown, read: ReadBody) {
    const { route, ctx, call, address, stopping, ending } = visit;
    this.#visit = visit;
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

  /** Open and catalogue routes are declared with `Caller | undefined`; all others have one here. */
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

  /** A function of its own: handlers take the members apart. */
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

  get expired(): boolean {
    return this.#aborted !== undefined;
  }

  whenGone(act: () => void): () => void {
    const { res } = this.#ctx;
    if (this.#aborted || res.destroyed) {
      act();
      return () => undefined;
    }
    const waiting = this.#waiting ?? new Set();
    if (!this.#waiting) {
      this.#waiting = waiting;
      // Whoever has the whole answer is not gone: nothing is stopped then.
      res.once('close', () => res.writableFinished || this.#leave());
    }
    waiting.add(act);
    return () => waiting.delete(act);
  }

  #leave(): void {
    for (const act of this.#waiting ?? []) act();
    this.#waiting?.clear();
  }

  /** A function of its own: handlers take the members apart. */
  get waitFor(): <T>(work: Promise<T>) => Promise<T> {
    return (work) => awaited(this.#ctx, work);
  }

  get overheadMs(): () => number {
    const { state } = this.#ctx;
    return () => performance.now() - state.startedAt - state.waitedMs;
  }

  get lacksFunds(): boolean {
    const { freePass } = this.#visit;
    return freePass !== undefined && freePass.by !== 'free model';
  }

  requireFunds(): void {
    if (this.lacksFunds) throw this.#visit.freePass?.lack;
  }

  async admitModel(modelId: string): Promise<void> {
    await this.#call?.admitModel(modelId);
  }

  async admitWith(own: LimitedCall): Promise<Admission> {
    if (!this.#call) throw new Error('a call of nobody has no windows');
    const requestLimit = requestLimitOf(this.#visit.route);
    return await this.#call.admitWith({ path: this.#path, model: undefined, requestLimit }, own);
  }

  async noteTokens(used: number): Promise<void> {
    await this.#call?.noteTokens(used);
  }

  abort(error: FareboxError): void {
    this.#aborted = error;
    this.#leave();
  }
}
