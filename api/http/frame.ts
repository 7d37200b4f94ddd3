/** Serves one route: credential, query, body, handler within its deadline, answer. The order is the same for all. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { RouterMiddleware } from '@koa/router';
import { FareboxError } from '../../domain/errors.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import { type Authentication, authenticate, findKeyHolder } from '../auth/authenticate.ts';
import type { BodyReader } from '../body/bodyReader.ts';
import { type ReadBody, readBody } from '../body/readBody.ts';
import type { Dependencies } from '../dependencies.ts';
import { openCall, type Subject } from '../limits/callLimits.ts';
import { isDryRun } from '../paid/dryRun.ts';
import { type FundsExemption, requireFreeModel, requireFunds } from '../paid/requireFunds.ts';
import { SMALL_JSON_BYTES } from '../queue/jobBodies.ts';
import type { InFlight } from '../server/inFlight.ts';
import { serveWallet } from '../wallets/walletCall.ts';
import { type Answer, discardAnswer, releasing } from './answer.ts';
import { errorStatus, toFareboxError } from './errors.ts';
import {
  awaitClient,
  HandlerRequest,
  ownerOf,
  type RequestContext,
  type RoutedContext,
  requestLimitOf,
  shareOf,
} from './handlerRequest.ts';
import { limitAddress } from './limitRoute.ts';
import { createQueryReader } from './queryReader.ts';
import type { ApiContext, RequestState } from './requestState.ts';
import { type Respond, setHeaders } from './respond.ts';
import { type BodySpec, DEFAULT_DEADLINE_MS, type Route } from './route.ts';
import { deadlineError } from './upstreamErrors.ts';

export interface Frame {
  dependencies: Dependencies;
  authentication: Authentication;
  inFlight: InFlight;
  bodyReader: BodyReader;
  respond: Respond;
}

export function serveRoute(frame: Frame, route: Route): RouterMiddleware<RequestState> {
  const { proxies } = frame.dependencies.limits;
  const readQuery = createQueryReader(route);
  return async function serveRoute(koaContext) {
    const ctx = koaContext as unknown as RoutedContext;
    ctx.state.route = route.path;
    const closed = route.closed?.(frame.dependencies);
    if (closed) return await frame.respond(ctx, closed);
    const address = () => proxies.clientOf(ctx.req);
    if (route.access !== 'open') {
      const { rawHeaders } = ctx.req;
      const attempt = { rawHeaders, path: ctx.path, access: route.access, address };
      const identified = await authenticate(frame.authentication, attempt);
      if ('answer' in identified) return await frame.respond(ctx, identified.answer);
      ctx.state.caller = identified.caller;
    } else if (route.readsKey) {
      ctx.state.caller = await findKeyHolder(frame.authentication, { rawHeaders: ctx.req.rawHeaders, address });
    }
    const { caller } = ctx.state;
    const call = caller && openCall(frame.dependencies.limits.calls, caller);
    const { stopping, ending, cutting } = frame.inFlight;
    const context: RequestContext = {
      route,
      readQuery,
      ctx,
      call,
      address,
      stopping,
      ending,
      cutting,
      shares: frame.dependencies.limits.accountShares,
      share: undefined,
      fundsExemption: undefined,
      leave: undefined,
    };
    const work = () => answer(frame, context);
    const served =
      call && caller?.wallet
        ? () => serveWallet(frame.dependencies, { accountId: caller.accountId, ctx, call, address }, work)
        : work;
    try {
      const given = await counted(frame, context, served);
      await frame.respond(ctx, given).catch((error) => countUnsent(context, error));
    } finally {
      context.leave?.();
    }
  };
}

/** Reports to the limits how a call ended, before its answer begins: the next call may be waiting for that. */
async function counted(frame: Frame, context: RequestContext, work: () => Promise<Answer>): Promise<Answer> {
  const { ctx, call } = context;
  try {
    const given = await work();
    if (!call) return given;
    if (isDryRun(ctx.req)) await call.noteTokens(0);
    if (!call.isCounted) await call.report(subjectOf(frame, context, { model: undefined }));
    const noting = call.ended(given.status, undefined);
    if (noting) await noting;
    return given;
  } catch (thrown) {
    if (!call) throw thrown;
    const { code } = toFareboxError(thrown);
    if (!call.isCounted) await call.report(subjectOf(frame, context, { model: undefined }));
    if (thrown instanceof FareboxError && thrown.limitType) call.noteRefusal(thrown.limitType);
    await call.ended(errorStatus(code), code);
    await call.noteTokens(0);
    throw thrown;
  } finally {
    setLimitHeaders(context);
  }
}

/** The headers of a refusal by a budget replace the rest of the budget of failures. */
function setLimitHeaders({ route, ctx: { res }, call }: RequestContext): void {
  if (!call) return;
  if (!route.hidesBudget) setHeaders(res, call.budgetHeaders);
  setHeaders(res, call.headers);
}

/** Counts an answer that became an error before it began. */
async function countUnsent(context: RequestContext, thrown: unknown): Promise<never> {
  const { ctx, call } = context;
  if (!ctx.res.headersSent) {
    const { code } = toFareboxError(thrown);
    await call?.ended(errorStatus(code), code);
    setLimitHeaders(context);
  }
  throw thrown;
}

/** Reads the body and calls the handler. An uploaded file is deleted when the handler ends, also when that is late. */
async function answer(frame: Frame, context: RequestContext): Promise<Answer> {
  const { route, readQuery, ctx, call } = context;
  if (route.access === 'admin' && ctx.state.caller?.keyType !== 'ADMIN') {
    // Failures of a known key count: repeating them is no way to keep the server busy.
    await admit(frame, context, {});
    throw new FareboxError({ code: 'admin_key_required', message: 'Admin API key required' });
  }
  // Wallets are counted over all processes (walletCall.ts).
  if (call && !ctx.state.caller?.wallet) context.leave = call.enter();
  const checked = checkFunds(frame, context);
  if (checked) context.fundsExemption = await checked;
  if (!route.body || (route.body.optional && !hasBody(ctx))) {
    if (!route.ownWindows) await admit(frame, context, {});
    return await withinDeadline(frame, { route, request: new HandlerRequest(context, readQuery(ctx), NO_BODY) });
  }
  let model: string | undefined;
  const folder = createFolderOnDemand(frame.dependencies.providers.folders);
  const body = await admitBody(frame, context, route.body);
  const reservedBytes = openReservedBytes(frame, context);
  askForBody(ctx);
  let read: ReadBody | undefined;
  let request: HandlerRequest;
  try {
    const noteModel = (named: string) => {
      model = named;
    };
    read = await awaitClient(
      ctx,
      readBody(ctx.req, body, {
        bodyReader: frame.bodyReader,
        createFolder: folder.create,
        noteModel,
        reservedBytes,
        config: frame.dependencies.core.config,
        noteSpooled: (bytes) => shareOf(context).take(bytes),
      }),
    );
    if (!route.ownWindows) await admit(frame, context, { model, read });
    if (context.fundsExemption && model !== undefined) {
      requireFreeModel(context.fundsExemption, frame.dependencies.limits.calls.modelOf(model, route.body.modelType));
    }
    request = new HandlerRequest(context, readQuery(ctx), read);
  } catch (error) {
    reservedBytes.release();
    await folder.remove();
    context.share?.release();
    // A request that was refused before it was counted is counted now, and refused for that when there were too many.
    if (!read) await admit(frame, context, { model });
    throw error;
  }
  return await withinDeadline(frame, { route, request, cleanUp: folder.remove, reservedBytes });
}

/** A folder of one request: the first upload creates it, and `remove` does nothing without it. */
function createFolderOnDemand(folders: Dependencies['providers']['folders']) {
  let folder: string | undefined;
  return {
    create: async () => {
      folder ??= await folders.create();
      return folder;
    },
    remove: async () => {
      if (folder !== undefined) await folders.remove(folder);
    },
  };
}

/** Checks that come before the body is read. A quote without a credential accepts no media. */
async function admitBody(
  { dependencies }: Frame,
  { route, ctx, address }: RequestContext,
  body: BodySpec<unknown>,
): Promise<BodySpec<unknown>> {
  await route.beforeBody?.(dependencies, { params: ctx.params, address: address() });
  if (route.access !== 'quote' || ctx.state.caller) return body;
  const perMinute = dependencies.core.config.limits.perAddressPerMinute;
  await limitAddress(dependencies.limits.calls, address(), { path: route.path, perMinute });
  return body.json ? { ...body, json: { ...body.json, maxBytes: SMALL_JSON_BYTES } } : body;
}

/** Opens the caller's share of the memory for bodies. */
function openReservedBytes({ dependencies }: Frame, context: RequestContext): ReservedBytes {
  return dependencies.limits.bodyBudget.open(ownerOf(context));
}

/** Undefined at once for a caller that is known to have funds. Refusals for missing funds count as well. */
function checkFunds(frame: Frame, context: RequestContext): Promise<FundsExemption | undefined> | undefined {
  const { route, ctx } = context;
  const { caller } = ctx.state;
  if (route.access !== 'buyer' || !caller) return undefined;
  const { headers } = ctx.req;
  return requireFunds(frame.dependencies, { route, caller, headers })?.catch(async (error) => {
    await admit(frame, context, {});
    throw error;
  });
}

async function admit(
  frame: Frame,
  context: RequestContext,
  { model, read }: { model?: string | undefined; read?: ReadBody },
): Promise<void> {
  const estimate = read && context.route.estimateTokens?.(read.body);
  const estimatedTokens = estimate instanceof Promise ? await estimate : estimate;
  await context.call?.admit(subjectOf(frame, context, { model, estimatedTokens }));
}

function subjectOf(
  { dependencies }: Frame,
  { route, ctx: { state } }: RequestContext,
  { model, estimatedTokens }: Pick<Subject, 'model' | 'estimatedTokens'>,
): Subject {
  return {
    path: route.path,
    model,
    modelType: route.body?.modelType,
    requestLimit: requestLimitOf(route),
    ownWindows: state.caller && route.ownWindows?.(dependencies.limits.calls, state.caller.accountId),
    estimatedTokens,
  };
}

const NO_BODY: ReadBody = { body: undefined, files: [] };

/** HTTP/1.1: a request has a body when one of these two headers says so. */
function hasBody({ req }: ApiContext): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** Sends `100 Continue`, which waits until the credential is accepted. */
function askForBody(ctx: ApiContext): void {
  if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
}

interface HandlerCall {
  route: Route;
  request: HandlerRequest;
  /** Runs when the handler ends, also when that is too late for the client. */
  cleanUp?: () => Promise<void>;
  /** Memory of the body, until the answer has ended: a stream keeps it as well. */
  reservedBytes?: ReservedBytes;
}

async function withinDeadline(frame: Frame, call: HandlerCall): Promise<Answer> {
  const deadlineMs = call.route.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const work = run(frame, call);
  return await new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // No client waits for the work any more, but it may hold a file or money: the process ends after it.
      frame.inFlight.track(work.then(discardAnswer));
      void undoLateAnswer(frame, call, deadlineMs).then(reject);
    }, deadlineMs);
    const end = (how: () => void) => {
      clearTimeout(timer);
      if (!isLate) how();
    };
    work.then(
      (answer) => end(() => resolve(answer)),
      (error) => end(() => reject(error)),
    );
  });
}

/** While the database does not answer, it is unknown whether the answer was billed. */
const MAX_UNDO_MS = 10_000;

/**
 * Error for a client whose answer is lost. It is sent after the bill was undone, so that it stays true if the process
 * dies. If that takes too long, the connection is closed without an answer.
 */
async function undoLateAnswer(
  { inFlight }: Frame,
  { request }: HandlerCall,
  deadlineMs: number,
): Promise<FareboxError> {
  const error = deadlineError(`no answer after ${deadlineMs} ms`);
  request.abort(error);
  const undoing = request.undo();
  inFlight.track(undoing);
  const unknown = sleep(MAX_UNDO_MS, undefined, { ref: false }).then(() => {
    throw new Error(`nothing was written for ${MAX_UNDO_MS} ms`);
  });
  unknown.catch(() => undefined);
  await Promise.race([undoing, unknown]).catch((err: unknown) => {
    request.log.error({ err }, 'the bill of a lost answer is not undone yet: its client is told nothing');
    request.cut();
  });
  return error;
}

async function run({ dependencies }: Frame, { route, request, cleanUp, reservedBytes }: HandlerCall): Promise<Answer> {
  try {
    const answer = await route.handler(dependencies, request);
    return releasing(answer, () => reservedBytes?.release());
  } catch (error) {
    reservedBytes?.release();
    throw error;
  } finally {
    await cleanUp?.();
    request.releaseShare();
  }
}
