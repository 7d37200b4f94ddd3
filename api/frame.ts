/** Serves one route: credential, query, body, handler within its deadline, answer. The order is the same for all. */

import type { IncomingHttpHeaders } from 'node:http';
import type { RouterMiddleware } from '@koa/router';
import type { Caller } from '../domain/caller.ts';
import { FareboxError } from '../domain/errors.ts';
import type { Logger } from '../infra/log.ts';
import type { WorkFolders } from '../infra/media/workFolders.ts';
import type { Answer } from './answer.ts';
import { type Authentication, authenticate } from './auth/authenticate.ts';
import { type ReadBody, readBody } from './body/readBody.ts';
import type { Dependencies } from './dependencies.ts';
import type { ApiContext, RequestState } from './requestState.ts';
import type { Respond } from './respond.ts';
import { DEFAULT_DEADLINE_MS, type Route, type RouteRequest, type UploadedFile } from './route.ts';
import type { InFlight } from './server/inFlight.ts';
import { validate } from './validate.ts';

export interface Frame {
  dependencies: Dependencies;
  authentication: Authentication;
  folders: WorkFolders;
  inFlight: InFlight;
  respond: Respond;
}

type RoutedContext = ApiContext & { params: Record<string, string> };

export function serve(frame: Frame, route: Route): RouterMiddleware<RequestState> {
  return async function serveRoute(context) {
    const ctx = context as unknown as RoutedContext;
    ctx.state.route = route.path;
    if (route.access !== 'open') {
      const { rawHeaders } = ctx.req;
      const knock = { rawHeaders, path: ctx.path, access: route.access };
      const identified = await authenticate(frame.authentication, knock);
      if ('answer' in identified) return await frame.respond(ctx, identified.answer);
      ctx.state.caller = identified.caller;
    }
    await frame.respond(ctx, await answer(frame, route, ctx));
  };
}

/** Reads what was sent and asks the handler. An uploaded file is gone when the handler is, also when that is late. */
async function answer(frame: Frame, route: Route, ctx: RoutedContext): Promise<Answer> {
  const query = route.query ? validate(route.query, { ...ctx.query }) : undefined;
  if (!route.body) return await withinDeadline(frame, { route, request: new Request(ctx, query, NO_BODY) });
  let folder: string | undefined;
  const createFolder = async () => {
    folder = await frame.folders.create();
    return folder;
  };
  const removeFolder = async () => {
    if (folder !== undefined) await frame.folders.remove(folder);
  };
  askForBody(ctx);
  let read: ReadBody;
  try {
    read = await readBody(ctx.req, route.body, createFolder);
  } catch (error) {
    await removeFolder();
    throw error;
  }
  return await withinDeadline(frame, {
    route,
    request: new Request(ctx, query, read),
    cleanUp: removeFolder,
  });
}

const NO_BODY: ReadBody = { body: undefined, file: undefined };

/** A client that waits to be asked for its body was not asked before its credential was accepted. */
function askForBody(ctx: ApiContext): void {
  if (ctx.req.headers.expect?.toLowerCase() === '100-continue') ctx.res.writeContinue();
}

interface Call {
  route: Route;
  request: Request;
  /** Runs when the handler is through, also when that is too late for the client. */
  cleanUp?: () => Promise<void>;
}

async function withinDeadline(frame: Frame, call: Call): Promise<Answer> {
  const deadlineMs = call.route.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const work = run(frame, call);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = tooLate(deadlineMs);
      call.request.abort(error);
      // Nobody waits for it any more, but it may hold a file or money: the process does not end before it has.
      frame.inFlight.track(work.then(discard));
      reject(error);
    }, deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function run({ dependencies }: Frame, { route, request, cleanUp }: Call): Promise<Answer> {
  try {
    const answer = await route.handler(dependencies, request);
    // Good news need not wait for it.
    void cleanUp?.();
    return answer;
  } catch (error) {
    await cleanUp?.();
    throw error;
  }
}

async function discard(answer: Answer): Promise<void> {
  if (answer.kind !== 'binary') return;
  answer.stream.destroy();
  await answer.onAborted?.();
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
  readonly file: UploadedFile | undefined;
  readonly query: unknown;
  readonly #ctx: RoutedContext;
  #controller: AbortController | undefined = undefined;
  #aborted: FareboxError | undefined = undefined;

  constructor(ctx: RoutedContext, query: unknown, read: ReadBody) {
    this.#ctx = ctx;
    this.query = query;
    this.body = read.body;
    this.file = read.file;
  }

  /** Open routes are declared with `Caller | undefined`; all others have one here. */
  get caller(): Caller {
    return this.#ctx.state.caller as Caller;
  }

  get params(): Record<string, string> {
    return this.#ctx.params;
  }

  get headers(): IncomingHttpHeaders {
    return this.#ctx.req.headers;
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
    const { res } = this.#ctx;
    if (this.#aborted) controller.abort(this.#aborted);
    else if (res.destroyed) controller.abort();
    else res.once('close', () => controller.abort());
    return controller.signal;
  }

  abort(error: FareboxError): void {
    this.#aborted = error;
    this.#controller?.abort(error);
  }
}
