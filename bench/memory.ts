/** Resident memory of the API: over 100,000 requests, and during 20 concurrent uploads of 25 MB. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { insertRunningJob, retrieveRequest } from './retrieve.ts';
import { reachesBars } from './statistics.ts';
import { toneWav } from './wav.ts';
import { openWorld } from './world.ts';

const UPLOADS = 20;
/** 16 kHz, 16 bit, mono: just below 25 MB. Too long for the model, so it is refused after the upload. */
const UPLOAD_SECONDS = 818;

export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

export async function benchmarkMemory(options: { requests?: number } = {}): Promise<{ ok: boolean }> {
  const requests = options.requests ?? 100_000;
  const world = await openWorld({});
  try {
    const { accountId, inference } = await world.createPayer();
    const queueId = await insertRunningJob(world, accountId);
    const api = await world.start('api');
    await world.start('worker');
    const target = retrieveRequest(api.origin, inference, queueId);
    const readings = [residentMb(api.pid)];
    for (let part = 0; part < 5; part += 1) {
      await autocannon({ ...target, connections: 32, amount: Math.ceil(requests / 5) });
      readings.push(residentMb(api.pid));
    }
    const quiet = readings.at(-1) ?? 0;
    const peak = await peakDuring(api.pid, () => uploadRecordings(api.origin, inference));
    return reportFigures({ readings, requests, quiet, peak });
  } finally {
    await world.close();
  }
}

export async function peakDuring(pid: number, work: () => Promise<void>): Promise<number> {
  let peak = 0;
  let running = true;
  const watch = (async () => {
    while (running) {
      peak = Math.max(peak, residentMb(pid));
      await sleep(20);
    }
  })();
  try {
    await work();
  } finally {
    running = false;
    await watch;
  }
  return peak;
}

async function uploadRecordings(origin: string, key: string): Promise<void> {
  const recording = new Blob([new Uint8Array(toneWav(UPLOAD_SECONDS))], { type: 'audio/wav' });
  const one = async () => {
    const form = new FormData();
    form.set('model', 'local-voice-changer');
    form.set('file', recording, 'long.wav');
    const answer = await fetch(`${origin}/api/v1/audio/voice-changer/queue`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    const body = await answer.text();
    if (answer.status !== 422) throw new Error(`expected "too long", got ${answer.status} ${body}`);
  };
  await Promise.all(Array.from({ length: UPLOADS }, one));
}

interface Readings {
  readings: number[];
  requests: number;
  quiet: number;
  peak: number;
}

function reportFigures({ readings, requests, quiet, peak }: Readings): { ok: boolean } {
  console.log(`memory of one API process over ${requests} requests, MB resident`);
  console.table({ 'after 0, 20, … 100 %': readings.map(Math.round).join(' · ') });
  const isReached = reachesBars([
    ['at the end', quiet, '≤', 200],
    ['growth over the last 60 %', quiet - (readings[2] ?? quiet), '≤', 15],
    [`added by ${UPLOADS} uploads of 25 MB at once`, peak - quiet, '≤', 100],
  ]);
  return { ok: isReached };
}
