/**
 * Demonstration job of a new data folder: sends a bundled recording through the voice changer by the public API, as a
 * client would, and prints its steps.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callOwn, FormData } from '../../infra/http/operatorFetch.ts';

export interface Demonstration {
  baseUrl: string;
  /** The balance of the account is visible to an ADMIN key only. */
  keys: { admin: string; inference: string };
  /** Folder for the changed recording. */
  folder: string;
  say(text: string): void;
}

interface Job {
  queue_id: string;
  state: string;
  price_usd: number;
  error: string | null;
  timeline: { event: string; at: string; ledger_id: string | null; detail: string | null }[];
}

const MODEL = 'local-voice-changer';
const VOICE = 'soprano';
const ROUTE = '/audio/voice-changer';
const RECORDING = new URL('./demo/recording.mp3', import.meta.url);
const DEADLINE_MS = 120_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** Runs the job, stores its output and completes it, so that nothing stays in the bucket. Throws when it fails. */
export async function demonstrate(options: Demonstration): Promise<void> {
  const { say } = options;
  say(`\nA demonstration: a recording of 11 s in the voice "${VOICE}", by the public API.`);
  const before = await balance(options);
  const queueId = await queue(options);
  const job = await follow(options, queueId);
  const file = await retrieve(options, queueId);
  await complete(options, queueId);
  await follow(options, queueId, job.timeline.length);
  const after = await balance(options);
  say(`  price       ${job.price_usd} USD (diem is spent first, one for one)`);
  say(`  balance     ${describe(before)}  →  ${describe(after)}`);
  say(`  listen      ${file}`);
}

async function queue(options: Demonstration): Promise<string> {
  const form = new FormData();
  form.set('model', MODEL);
  form.set('voice', VOICE);
  form.set('file', new Blob([readFileSync(RECORDING)], { type: 'audio/mpeg' }), 'recording.mp3');
  const answer = await request(options, { method: 'POST', route: `${ROUTE}/queue`, body: form });
  const { queue_id: queueId } = (await answer.json()) as { queue_id: string };
  options.say(`  queued      ${queueId}`);
  return queueId;
}

/** Prints new steps of the timeline until the job stops running. Throws when it failed. */
async function follow(options: Demonstration, queueId: string, reported = 0): Promise<Job> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let seen = reported; ; ) {
    const job = (await (await request(options, { method: 'GET', route: `/jobs/${queueId}` })).json()) as Job;
    for (const { event, detail, ledger_id: ledgerId } of job.timeline.slice(seen)) {
      options.say(`  ${event.padEnd(11)} ${[detail, ledgerId].filter(Boolean).join(' · ')}`.trimEnd());
    }
    seen = Math.max(seen, job.timeline.length);
    if (job.state === 'stored' || job.state === 'deleted') return job;
    const running = job.state === 'accepted' || job.state === 'submitted';
    if (!running) throw new Error(`the job ended as ${job.state}: ${job.error ?? 'no reason given'}`);
    if (Date.now() > deadline) throw new Error(`the job is still ${job.state} after ${DEADLINE_MS / 1_000} s`);
    await sleep(100);
  }
}

async function retrieve(options: Demonstration, queueId: string): Promise<string> {
  const body = JSON.stringify({ model: MODEL, queue_id: queueId });
  const answer = await request(options, { method: 'POST', route: `${ROUTE}/retrieve`, body });
  const type = answer.headers.get('content-type') ?? '';
  if (!type.startsWith('audio/')) throw new Error(`retrieve answered ${type}: ${(await answer.text()).slice(0, 300)}`);
  const extension = { 'audio/mpeg': 'mp3', 'audio/wav': 'wav', 'audio/flac': 'flac', 'audio/ogg': 'ogg' }[type];
  const file = path.join(options.folder, `demonstration.${extension ?? 'audio'}`);
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  return file;
}

async function complete(options: Demonstration, queueId: string): Promise<void> {
  const body = JSON.stringify({ model: MODEL, queue_id: queueId });
  const answer = await request(options, { method: 'POST', route: `${ROUTE}/complete`, body });
  const { success } = (await answer.json()) as { success: boolean };
  if (!success) throw new Error('complete answered success: false');
}

interface Balances {
  diem?: number | null;
  usd?: number | null;
}

async function balance(options: Demonstration): Promise<Balances> {
  const { admin } = options.keys;
  const answer = await request({ ...options, key: admin }, { method: 'GET', route: '/billing/balance' });
  return ((await answer.json()) as { balances: Balances }).balances;
}

function describe({ diem, usd }: Balances): string {
  return `${diem ?? 0} diem + ${usd ?? 0} USD`;
}

interface Call {
  method: 'GET' | 'POST';
  route: string;
  body?: string | FormData;
}

async function request(options: Demonstration & { key?: string }, { method, route, body }: Call) {
  const key = options.key ?? options.keys.inference;
  const json = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
  const answer = await callOwn(`${options.baseUrl}${route}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...json },
    ...(body !== undefined && { body }),
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  if (answer.status >= 300) {
    throw new Error(`${method} ${route} answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  }
  return answer;
}
