/**
 * POST /audio/voice-changer/queue: takes a recording, has it measured and charged, and answers with the job. Everything
 * that can be refused without looking at the bytes is refused here; the rest by the workflow, before the charge.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { chooseVoice } from '../../domain/catalogue/chooseVoice.ts';
import type { VoiceChangerModel } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { isRunning } from '../../domain/jobs.ts';
import { point } from '../../infra/points.ts';
import { findJob } from '../../infra/postgres/jobs.ts';
import { sealedOrderKey, sourceKey } from '../../infra/s3/objectKeys.ts';
import type { GenerationInput, JobSource } from '../../workflows/contract.ts';
import { type Answer, json, withHeaders } from '../answer.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Claim, claimKey, renewClaim, withdrawClaim } from '../idempotency.ts';
import { invalid } from '../invalid.ts';
import { requireCallable, requireVoiceChanger } from '../models.ts';
import { ACCEPT_LIMIT_MS, cancelGeneration, submitGeneration, withdrawGeneration } from '../queued.ts';
import { defineRoute, type RouteRequest, type UploadedFile } from '../route.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './descriptions.ts';
import { SMALL_JSON_BYTES } from './quote.ts';
import { type QueueBody, queueFields, queueJson } from './shapes.ts';

const MAX_FILE_BYTES = 25 * 1024 * 1024;
/** The answer is waited for a little longer than the workflow may take to charge, so none comes after we gave up. */
const DEADLINE_MS = ACCEPT_LIMIT_MS + 15_000;

/** A busy machine may be late by a second or two; a dead one should not hold a job up for much longer. */
const HEARTBEAT_MS = 5_000;

type QueueRequest = RouteRequest<QueueBody, undefined, 'key'>;

export const queueRoute = defineRoute({
  method: 'POST',
  path: '/audio/voice-changer/queue',
  access: 'key',
  body: {
    json: { schema: queueJson, maxBytes: SMALL_JSON_BYTES },
    multipart: { fields: queueFields, maxFileBytes: MAX_FILE_BYTES },
    needsModel: true,
    modelType: 'music',
  },
  deadlineMs: DEADLINE_MS,
  describes: VOICE_CHANGER_DESCRIPTIONS.queue,
  async handler(dependencies, request: QueueRequest): Promise<Answer> {
    await point('request-parsed');
    const { model, voice, headers } = checkOrder(dependencies, request);
    const claimed = await claimKey(dependencies.sql, {
      caller: request.caller,
      header: request.headers['idempotency-key'],
      route: 'audio/voice-changer/queue',
      body: { ...request.body, file: request.file?.sha256 ?? null },
    });
    const claim = claimed.withdrawn ? await seeThrough(dependencies, request, claimed) : claimed;
    const replay = claim.known ? await replayOf(dependencies, request, claim.queueId) : undefined;
    const answer = replay ?? (await accept(dependencies, request, { model, voice, claim }));
    return withHeaders(answer, headers);
  },
});

interface Checked {
  model: VoiceChangerModel;
  voice: string;
}

/** Shape was checked by the frame; here: model, source (exactly one), voice and options, in this order. */
function checkOrder({ config }: Dependencies, { body, file, caller }: QueueRequest) {
  const { model, headers } = requireVoiceChanger(config, body.model);
  requireCallable(config, model, caller);
  if ((file === undefined) === (body.audio_url === undefined)) {
    throw invalid('audio_url', 'Provide exactly one of file or audio_url');
  }
  if (body.audio_url !== undefined && !/^https?:\/\//i.test(body.audio_url)) {
    throw invalid('audio_url', 'Must be an http or https URL');
  }
  const choice = chooseVoice(model, body.voice);
  if (!choice.ok) throw invalid('voice', choice.message);
  if (body.remove_background_noise && !model.supportsBackgroundNoiseRemoval) {
    throw invalid('remove_background_noise', 'This model does not support it');
  }
  if (body.seed !== undefined && !model.supportsSeed) throw invalid('seed', 'This model does not support it');
  return { model, voice: choice.voice, headers };
}

/** The first answer of this key, also when it was lost on its way: the row is the truth. */
async function replayOf(
  { sql }: Dependencies,
  { caller }: QueueRequest,
  queueId: string,
): Promise<Answer | undefined> {
  const job = await findJob(sql, { queueId, accountId: caller.accountId });
  return job && queued(job.modelId, { queueId, durationSeconds: job.durationSeconds, replayed: true });
}

/** An order that is being taken back ends first; the key then stands for a new one, unless the job came to an output. */
async function seeThrough(
  dependencies: Dependencies,
  { caller }: QueueRequest,
  claim: Claim,
): Promise<Claim> {
  const { sql, temporal } = dependencies;
  await cancelGeneration(temporal, claim.queueId);
  const job = await findJob(sql, { queueId: claim.queueId, accountId: caller.accountId });
  return job?.outputKey ? claim : await renewClaim(sql, caller, claim);
}

interface Attempt extends Checked {
  claim: Claim;
}

async function accept(dependencies: Dependencies, request: QueueRequest, attempt: Attempt): Promise<Answer> {
  const { model, claim } = attempt;
  const input = inputOf(dependencies, request, attempt);
  // What is small is on its way together with its order, whose way is the longer one: it goes first, and the step that
  // needs the source waits a moment for it.
  const together = request.file === undefined || request.file.sizeBytes <= TOGETHER_BYTES;
  const put = () => putSource(dependencies, input.queueId, request);
  const stored = together ? nextTurn().then(put) : put();
  if (!together) await stored;
  const answer = await submit(dependencies, request, { input, claim, stored });
  await stored.catch(() => undefined);
  // A refusal may be what an earlier request with this key was told: what was wrong then need not be wrong now.
  const old = answer === 'ended' || (!answer.accepted && claim.known && !claim.renewed);
  if (old) return await again(dependencies, request, attempt);
  if (claim.key !== undefined || !answer.accepted) await removeLateSource(dependencies, input);
  if (answer.accepted) {
    const { durationSeconds } = answer;
    return queued(model.id, { queueId: input.queueId, durationSeconds, replayed: claim.known });
  }
  const { code, message, fields } = answer;
  throw new FareboxError({ code, message, ...(fields ? { fields } : {}) });
}

const TOGETHER_BYTES = 1024 * 1024;

interface Submission {
  input: GenerationInput;
  claim: Claim;
  /** Without its source the order cannot be accepted: then nobody needs to wait for the answer. */
  stored: Promise<void>;
}

async function submit(dependencies: Dependencies, request: QueueRequest, submission: Submission) {
  try {
    const answer = submitGeneration(dependencies, submission.input);
    return await Promise.race([answer, submission.stored.then(() => answer)]);
  } catch (error) {
    // It may have arrived although its answer did not: it is taken back while the client reads that nothing was charged.
    void takeBack(dependencies, request, submission).catch((err: unknown) =>
      request.log.warn({ err, queueId: submission.input.queueId }, 'an unanswered order was not taken back'),
    );
    throw error;
  }
}

async function takeBack(
  dependencies: Dependencies,
  { caller }: QueueRequest,
  { input, claim }: Submission,
): Promise<void> {
  const decide = () => withdrawClaim(dependencies.sql, caller, claim);
  const outcome = await withdrawGeneration(dependencies, input, decide);
  if (outcome === 'never_came') await removeSource(dependencies, input.queueId);
  // The key stood for the order that is gone now; whoever asks again means a new one.
  if (outcome === 'cancelled') await renewClaim(dependencies.sql, caller, claim);
}

/** A source that came later than the job's own end was put back by that: a twin's with the same key, or a refused one's. */
async function removeLateSource(dependencies: Dependencies, input: GenerationInput): Promise<void> {
  const { queueId, accountId } = input;
  try {
    const job = await findJob(dependencies.sql, { queueId, accountId });
    if (!job || !isRunning(job.state)) await removeSource(dependencies, queueId);
  } catch (err) {
    // The order has its answer; what is left is for the sweeper.
    dependencies.log.warn({ err, queueId }, 'a source may have been left behind');
  }
}

/** The key's earlier attempt was refused and is over: this one gets a queue_id of its own, unless a twin was faster. */
async function again(dependencies: Dependencies, request: QueueRequest, attempt: Attempt): Promise<Answer> {
  const { claim } = attempt;
  await removeSource(dependencies, claim.queueId);
  const replay = await replayOf(dependencies, request, claim.queueId);
  if (replay) return replay;
  if (claim.renewed) {
    const message = 'Requests with this Idempotency-Key are still being decided; please try again.';
    throw new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 1 });
  }
  const renewed = await renewClaim(dependencies.sql, request.caller, claim);
  return await accept(dependencies, request, { ...attempt, claim: renewed });
}

function inputOf(
  { config, clock }: Dependencies,
  { body, file, caller, requestId }: QueueRequest,
  { model, voice, claim }: Attempt,
): GenerationInput {
  return {
    queueId: claim.queueId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId,
    kind: 'voice-changer',
    modelId: model.id,
    provider: model.provider,
    providerQueue: config.providers[model.provider]?.kind === 'local' ? 'media' : 'providers',
    source: sourceOf(file),
    voice,
    removeBackgroundNoise: body.remove_background_noise ?? false,
    ...(body.seed === undefined ? {} : { seed: body.seed }),
    acceptBy: clock.now() + ACCEPT_LIMIT_MS,
    timing: {
      acceptMs: ACCEPT_LIMIT_MS,
      deadlineMs: config.jobs.deadlineMinutes * 60_000,
      retentionMs: config.media.retentionHours * 3_600_000,
      pollFirstMs: config.jobs.pollFirstMs,
      pollLongestMs: config.jobs.pollLongestMs,
      heartbeatMs: HEARTBEAT_MS,
    },
  };
}

function sourceOf(file: UploadedFile | undefined): JobSource {
  return file ? { from: 'upload', sizeBytes: file.sizeBytes, sha256: file.sha256 } : { from: 'url' };
}

/** Bytes travel by way of storage; a URL is sealed there, so that it enters no history. */
async function putSource({ storage }: Dependencies, queueId: string, request: QueueRequest): Promise<void> {
  const { file, body } = request;
  if (file) {
    const { content, sizeBytes, sha256 } = file;
    const about = { sizeBytes, sha256, contentType: 'application/octet-stream' };
    if ('bytes' in content) await storage.putBytes(sourceKey(queueId), content.bytes, about);
    else await storage.putFile(sourceKey(queueId), content.path, about);
  } else {
    const order = Buffer.from(JSON.stringify({ url: body.audio_url }));
    await storage.putBytes(sealedOrderKey(queueId), order, { contentType: 'application/json' });
  }
  await point('source-stored');
}

async function removeSource({ storage }: Dependencies, queueId: string): Promise<void> {
  await Promise.all([storage.remove(sourceKey(queueId)), storage.remove(sealedOrderKey(queueId))]);
}

function queued(model: string, job: { queueId: string; durationSeconds: number; replayed: boolean }): Answer {
  return json(
    { model, queue_id: job.queueId, status: 'QUEUED', duration_seconds: job.durationSeconds },
    job.replayed ? { headers: { 'Idempotent-Replayed': 'true' } } : undefined,
  );
}
