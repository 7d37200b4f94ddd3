/** Sends an Answer. */
import type { ServerResponse } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { failpoint, isFailpointArmed } from '../../infra/failpoints.ts';
import type { InFlight } from '../server/inFlight.ts';
import type { Receipts } from '../server/receipts.ts';
import { relay, waitForFirstBytes } from '../server/relay.ts';
import { type Answer, type BinaryAnswer, discardAnswer, type JsonAnswer, type PreparedAnswer } from './answer.ts';
import { compress } from './compress.ts';
import type { ApiContext } from './requestState.ts';
import { sendEvents } from './sendEvents.ts';
import { sendStream } from './sendStream.ts';

export type Respond = (ctx: ApiContext, answer: Answer) => Promise<void>;

interface RespondOptions {
  /** Further names under which each `x-service-…` header is sent again. */
  aliases: readonly string[];
  inFlight: InFlight;
  receipts: Receipts;
}

export function createRespond(options: RespondOptions): Respond {
  return async function respond(ctx, answer) {
    ctx.state.answeredAt = performance.now();
    if (ctx.res.destroyed) return await abandon(ctx, answer);
    try {
      ctx.res.statusCode = answer.status;
      setHeaders(ctx.res, answer.headers);
      if (options.aliases.length > 0) repeatUnderAliases(ctx, answer.headers, options.aliases);
    } catch (error) {
      // The answer may hold a file, or money.
      await discardAnswer(answer);
      throw error;
    }
    if (answer.kind === 'json') await sendJson(ctx, answer);
    else if (answer.kind === 'prepared') sendPrepared(ctx, answer);
    else if (answer.kind === 'stream') await sendStream(ctx, answer);
    else if (answer.kind === 'events') await sendEvents(ctx, answer);
    else await sendBinary(ctx, answer, options);
  };
}

/** Sets headers directly: Koa's `ctx.set` would process each twice. `Vary` adds to what the answer varies by already. */
export function setHeaders(res: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) {
    if (name === 'Vary') res.appendHeader(name, headers[name] ?? '');
    else res.setHeader(name, headers[name] ?? '');
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
export const OWN_PREFIX = 'x-service-';

function repeatUnderAliases(
  ctx: ApiContext,
  headers: Readonly<Record<string, string>>,
  aliases: readonly string[],
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!name.toLowerCase().startsWith(OWN_PREFIX)) continue;
    for (const alias of aliases) ctx.set(`x-${alias}-${name.slice(OWN_PREFIX.length)}`, value);
  }
}

async function sendJson(ctx: ApiContext, answer: JsonAnswer): Promise<void> {
  const { res } = ctx;
  const text = JSON.stringify(answer.body);
  const packed = answer.compressible ? await compress(text, ctx.req.headers['accept-encoding']) : undefined;
  announce(ctx, packed ? packed.bytes.length : Buffer.byteLength(text));
  if (answer.compressible) res.appendHeader('Vary', 'Accept-Encoding');
  if (packed) res.setHeader('Content-Encoding', packed.encoding);
  if (isFailpointArmed('response-started')) {
    res.flushHeaders();
    await failpoint('response-started');
  }
  if (isFailpointArmed('response-ended')) res.once('finish', () => void failpoint('response-ended'));
  res.end(packed ? packed.bytes : text);
}

function sendPrepared(ctx: ApiContext, { bytes }: PreparedAnswer): void {
  if (bytes === undefined) ctx.respond = false;
  else announce(ctx, bytes.length);
  ctx.res.end(bytes);
}

/** A complete body bypasses Koa, which would process it once more (bench `models`). */
function announce(ctx: ApiContext, sizeBytes: number): void {
  ctx.respond = false;
  ctx.res.setHeader('Content-Type', JSON_TYPE);
  ctx.res.setHeader('Content-Length', sizeBytes);
}

async function abandon(ctx: ApiContext, answer: Answer): Promise<void> {
  ctx.respond = false;
  await discardAnswer(answer);
}

/** The status is sent with the first byte, so that a storage error before it can still be answered. */
async function sendBinary(
  ctx: ApiContext,
  answer: BinaryAnswer,
  { inFlight, receipts }: RespondOptions,
): Promise<void> {
  const { res } = ctx;
  const stopReading = () => answer.stream.destroy();
  res.once('close', stopReading);
  try {
    await waitForFirstBytes(answer.stream);
  } catch (cause) {
    const message = 'The media cannot be read at the moment. Please try again.';
    inFlight.track(Promise.resolve(answer.onAborted?.()));
    throw new FareboxError({ code: 'unavailable', message, cause });
  }
  ctx.respond = false;
  res.setHeader('Content-Type', answer.contentType);
  res.setHeader('Content-Length', answer.sizeBytes);
  let delivered = false;
  try {
    await begin(answer, res);
    await relay(answer.stream, res, answer.sizeBytes);
    delivered = !res.destroyed || res.writableFinished;
  } catch (error) {
    ctx.state.log.info({ err: error, route: ctx.state.route }, 'delivery broke off');
    res.destroy();
  } finally {
    res.off('close', stopReading);
  }
  const { socket } = ctx.req;
  const isReceived = () => receipts.waitForReceipt(socket, answer.sizeBytes);
  await afterwards(ctx, delivered ? () => answer.onDelivered?.(isReceived) : answer.onAborted);
}

/** Sends the head, and runs `onBegun` before the body follows. */
async function begin({ onBegun }: Pick<BinaryAnswer, 'onBegun'>, res: ServerResponse): Promise<void> {
  if (!onBegun) return;
  if (res.destroyed) throw new Error('the client is gone');
  res.flushHeaders();
  await onBegun();
}

/** Errors after a delivery must not become errors of an answered request. */
async function afterwards(ctx: ApiContext, work: (() => Promise<void> | undefined) | undefined): Promise<void> {
  try {
    await work?.();
  } catch (error) {
    ctx.state.log.error({ err: error, route: ctx.state.route }, 'work after a delivery failed');
  }
}
