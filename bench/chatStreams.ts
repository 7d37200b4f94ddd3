/** Many streams at once, each frame of which says when it was sent. */
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { FRAMES } from './floor/chatFrames.ts';
import type { LeanRequest } from './leanClient.ts';

export interface StreamFigures {
  /** Of each stream: from the request to its first frame. */
  firstMs: number[];
  /** Of all frames, from their sending to their arrival: the most. */
  latestMs: number;
  /** Frames that came more than 50 ms after they were sent. */
  late: number;
  /** Frames that never came. */
  lost: number;
}

const LATE_MS = 50;
/** Clients do not all begin in the same instant; they are all under way well before the first one ends. */
const SPREAD_MS = 600;
const SENT_AT = /"content":"(\d+) "/g;

export async function readStreams(target: LeanRequest, count: number): Promise<StreamFigures> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const figures: StreamFigures = { firstMs: [], latestMs: 0, late: 0, lost: 0 };
  const read = async (_: unknown, at: number) => {
    await sleep((at * SPREAD_MS) / count);
    await readStream(target, agent, figures);
  };
  await Promise.all(Array.from({ length: count }, read));
  agent.destroy();
  return figures;
}

function readStream(target: LeanRequest, agent: http.Agent, figures: StreamFigures): Promise<void> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let frames = 0;
    let rest = '';
    const take = (text: string) => {
      const now = Number(process.hrtime.bigint() / 1_000n);
      const whole = rest + text;
      for (const [, sent] of whole.matchAll(SENT_AT)) {
        frames += 1;
        if (frames === 1) figures.firstMs.push(performance.now() - startedAt);
        const ms = (now - Number(sent)) / 1_000;
        if (ms > LATE_MS) figures.late += 1;
        figures.latestMs = Math.max(figures.latestMs, ms);
      }
      rest = whole.slice(whole.lastIndexOf('\n\n') + 2);
    };
    const { method, headers, url, body } = target;
    const request = http.request(url, { method, headers: { ...headers }, agent }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
      response.setEncoding('utf8').on('data', take);
      response.on('error', reject);
      response.on('end', () => {
        figures.lost += FRAMES - frames;
        resolve();
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
