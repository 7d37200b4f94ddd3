/** Tests of orders.test.ts: one price from the quote to the usage entry, exact to the nano (AUDIO-1, VIDEO-1). */
import { beforeAll, describe, expect, it } from 'vitest';
import { nanoFromNumber } from '../../../domain/money.ts';
import type { Reply } from '../client.ts';
import { queueIdOf } from '../orders.ts';
import { clip, dataUrl } from './media.ts';
import { type Kind, type Order, queue, quoteOf } from './orders.ts';
import { world } from './sharedWorld.ts';
import { expectNothingLeft } from './world.ts';

let threeSeconds = '';
let twoAndABit = '';

beforeAll(() => {
  threeSeconds = world.media.serve('three.mp4', clip({ seconds: 3 }));
  twoAndABit = dataUrl('video/mp4', clip({ seconds: 2.3 }));
});

interface PriceCase {
  name: string;
  kind: Kind;
  /** Fields of both quote and queue, with the model. */
  body: () => object;
  /** Fields of only the quote or only the queue. */
  quoteOnly?: object;
  queueOnly?: object;
  nano: bigint;
}

const NINE_LETTERS = { quoteOnly: { character_count: 9 }, queueOnly: { prompt: ' Déjà vu 🎵 ' } };
const WORDS = { queueOnly: { prompt: 'A tram at dawn' } };

const AUDIO: PriceCase[] = [
  {
    name: 'a thousand characters, letters of four bytes being one',
    kind: 'audio',
    body: () => ({ model: 'letter-music' }),
    ...NINE_LETTERS,
    nano: 123_301n,
  },
  {
    name: 'the second',
    kind: 'audio',
    body: () => ({ model: 'second-music', duration_seconds: 7 }),
    ...WORDS,
    nano: 2_333_331n,
  },
  {
    name: 'the second, in digits',
    kind: 'audio',
    body: () => ({ model: 'second-music', duration_seconds: '30' }),
    ...WORDS,
    nano: 9_999_990n,
  },
  {
    name: 'the default length',
    kind: 'audio',
    body: () => ({ model: 'any-music' }),
    ...WORDS,
    nano: 1_666_665n,
  },
  {
    name: 'a tier, at its ceiling',
    kind: 'audio',
    body: () => ({ model: 'tier-music', duration_seconds: 10 }),
    ...WORDS,
    nano: 11_000_000n,
  },
  {
    name: 'the next tier, a second later',
    kind: 'audio',
    body: () => ({ model: 'tier-music', duration_seconds: 11 }),
    ...WORDS,
    nano: 29_000_001n,
  },
  {
    name: 'the piece',
    kind: 'audio',
    body: () => ({ model: 'piece-music' }),
    ...WORDS,
    nano: 12_345_679n,
  },
];

/** Fields of both quote and queue, price, and whether the prompt is missing. */
const VIDEO_ROWS: [string, () => object, bigint, { wordless?: boolean }?][] = [
  ['the second', () => ({ model: 'any-video', duration: '5s', resolution: '256p' }), 50_505_055n],
  ['the default resolution', () => ({ model: 'any-video', duration: '5s' }), 50_505_055n],
  ['a dearer resolution', () => ({ model: 'any-video', duration: '5s', resolution: '1080p' }), 101_010_115n],
  ['silence', () => ({ model: 'any-video', duration: '10s', audio: false }), 70_000_030n],
  ['sound that was asked for', () => ({ model: 'any-video', duration: '1s', audio: true }), 10_101_011n],
  ['the video', () => ({ model: 'piece-video', duration: '10s', resolution: '720p' }), 123_456_789n],
  ['a dearer video', () => ({ model: 'piece-video', duration: 'auto', resolution: '4k' }), 500_000_000n],
  ['a length of its own choice', () => ({ model: 'auto-video', duration: 'auto' }), 70_707_077n],
  [
    "the source's length, which is no whole one",
    () => ({ model: 'source-video', video_url: twoAndABit, resolution: '1080p' }),
    60_606_069n,
  ],
  [
    'the ordered length, although a longer source guides it',
    () => ({ model: 'guided-video', duration: '1s', video_url: threeSeconds }),
    10_101_011n,
  ],
  [
    'an output of twice the height, which is the default, and 48 pictures a second',
    () => ({ model: 'upscale-video', video_url: threeSeconds, target_fps: 48 }),
    6_000_009n,
    { wordless: true },
  ],
  [
    'the highest output and a high frame rate, twice',
    () => ({ model: 'upscale-video', video_url: threeSeconds, target_fps: 49, upscale_factor: 4 }),
    60_000_000n,
    { wordless: true },
  ],
  [
    "an output as high as its source's in slow motion, by the seconds of the output",
    () => ({
      ...{ model: 'upscale-video', video_url: twoAndABit, upscale_factor: 1 },
      ...{ slowdown_factor: 8, enhancement_model: 'sharpener' },
    }),
    19_000_019n,
    { wordless: true },
  ],
];

const VIDEO: PriceCase[] = VIDEO_ROWS.map(([name, body, nano, { wordless = false } = {}]) => ({
  ...{ name, kind: 'video', body, nano },
  ...(wordless ? {} : WORDS),
}));

describe('orders by', () => {
  it.each([...AUDIO, ...VIDEO])('cost the same in quote, dry run, job, ledger and usage: $name', async (row) => {
    const { farebox } = world;
    const { api } = farebox.account;
    const { kind, nano } = row;
    const order: Order = { kind, body: { ...row.body(), ...row.queueOnly } };
    const quoted = await quoteOf(api, { kind, body: { ...row.body(), ...row.quoteOnly } });
    expect(quoted.body).toEqual({ quote: Number(nano) / 1e9 });
    const before = await farebox.moneyOf(farebox.account);
    const dry = await queue(api, order, { headers: { 'x-service-dry-run': 'true' } });
    const cost = { usd: quoted.body.quote, diem: quoted.body.quote };
    expect([dry.status, dry.body]).toEqual([200, { object: 'dry_run', cost }]);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    const reply = await queue(api, order);
    const queueId = queueIdOf(reply);
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(nano);
    expect(await inLedger(queueId, 'charge')).toBe(-nano);
    const { body: job } = await api.get(`/jobs/${queueId}`);
    expect(nanoFromNumber(job.price_usd as number)).toBe(nano);
    expect(await inUsage(job.request_id)).toBe(nano);
    expect((await api.post(`/jobs/${queueId}/cancel`)).body).toMatchObject({ credits_refunded: true });
    expect(await inLedger(queueId, 'refund')).toBe(nano);
    expect(await inUsage(job.request_id)).toBe(0n);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
  });

  it('leave nothing behind after cancellation', () => expectNothingLeft(world));
});

async function inLedger(queueId: string, kind: string): Promise<bigint> {
  const { rows } = await world.farebox.pool.query<{ amount: string }>(
    'select coalesce(sum(amount), 0)::text as amount from transfers where operation_id = $1 and kind = $2',
    [queueId, kind],
  );
  return BigInt(rows[0]?.amount ?? 0);
}

/** Sum over currencies. Refunds count against charges. */
async function inUsage(requestId: unknown): Promise<bigint> {
  const { api, adminKey } = world.farebox.account;
  const { body }: Reply = await api.get('/billing/usage-history?pageSize=200', { key: adminKey });
  const entries = body.data as { amount: number; inferenceDetails: { requestId: string } | null }[];
  const amounts = entries
    .filter(({ inferenceDetails }) => inferenceDetails?.requestId === requestId)
    .map(({ amount }) => BigInt(Math.sign(amount)) * (nanoFromNumber(Math.abs(amount)) ?? 0n));
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
