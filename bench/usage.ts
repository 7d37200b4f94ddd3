/**
 * Usage history of an account with ten million entries: pages against primary-key reads of the same size, and the CSV
 * of a million entries against the same COPY. Also measures the memory growth of the API.
 */
import pg from 'pg';
import { peakDuring, residentMb } from './memory.ts';
import { percentile, round } from './statistics.ts';
import { copyRange, fillUsage, readRange, timeOf } from './usageData.ts';
import { openWorld } from './world.ts';

const ENTRIES = 10_000_000;
const CSV_ENTRIES = 1_000_000;
const PAGE = 1_000;
/** Reads per kind of page. */
const READS = 200;
const WARM_UP = 20;

interface Bench {
  url: string;
  admin: string;
  accountId: string;
  entries: number;
  client: pg.Client;
  pid: number;
}

interface Page {
  data: unknown[];
  nextCursor: string | null;
}

export async function benchmarkUsage(options: { entries?: number } = {}): Promise<{ ok: boolean }> {
  const entries = options.entries ?? ENTRIES;
  const world = await openWorld({});
  const databaseUrl = world.environment.DATABASE_URL ?? '';
  const client = new pg.Client({ connectionString: databaseUrl });
  try {
    await client.connect();
    const { accountId, admin } = await world.createPayer();
    const startMs = performance.now();
    await fillUsage(databaseUrl, { accountId, entries });
    console.log(`usage: ${entries} entries made in ${Math.round((performance.now() - startMs) / 1_000)} s`);
    const api = await world.start('api');
    const url = `${api.origin}/api/v1/billing/usage-history`;
    const bench = { url, admin, accountId, entries, client, pid: api.pid };
    const pages = await measurePages(bench);
    return reportFigures(pages, await measureCsv(bench));
  } finally {
    await client.end().catch(() => undefined);
    await world.close();
  }
}

/** Query and first time of the pages of each kind. They vary with `turn`. */
function kindsOf({ entries }: Bench): Record<string, (turn: number) => { query: string; from: string }> {
  const somewhere = (turn: number) => timeOf(Math.floor(entries * ((turn * 0.618034) % 1) * 0.99));
  const since = (from: string, more = '') => ({ query: `startTimestamp=${from}${more}`, from });
  return {
    first: () => ({ query: '', from: timeOf(0) }),
    middle: (turn) => since(somewhere(turn)),
    last: () => since(timeOf(entries - PAGE + 1)),
    'of a range': (turn) => since(somewhere(turn), `&endTimestamp=${timeOf(entries)}`),
    'of a currency': (turn) => since(somewhere(turn), '&currency=USD'),
    'of a currency that hardly occurs': () => ({ query: 'currency=BUNDLED_CREDITS', from: timeOf(0) }),
  };
}

type Waits = Record<string, { pages: number[]; floor: number[] }>;

/** Measures product and floor in turns, one request at a time. Each page is followed by the next page by cursor. */
async function measurePages(bench: Bench): Promise<Waits> {
  const waits: Waits = {};
  for (const [kind, placeOf] of Object.entries(kindsOf(bench))) {
    const pages: number[] = [];
    const followed: number[] = [];
    const floor: number[] = [];
    for (let turn = -WARM_UP; turn < READS; turn += 1) {
      const { query, from } = placeOf(turn + WARM_UP);
      const read = await timed(() => readRange(bench.client, bench.accountId, { from, rows: PAGE }));
      const page = await timed(() => fetchPage(bench, `${query}${query ? '&' : ''}pageSize=${PAGE}`));
      const { nextCursor } = parsePage(page.result);
      const next = nextCursor === null ? undefined : await timed(() => fetchPage(bench, `cursor=${nextCursor}`));
      if (turn < 0) continue;
      floor.push(read.ms);
      pages.push(page.ms);
      if (next) followed.push(next.ms);
    }
    waits[kind] = { pages, floor };
    if (followed.length > 0) waits[`${kind}, the next by its cursor`] = { pages: followed, floor };
  }
  return waits;
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, ms: performance.now() - startMs };
}

/** Bytes of the page. Parsing them is not part of the measurement. */
async function fetchPage({ url, admin }: Bench, query: string): Promise<Buffer> {
  const answer = await fetch(`${url}?${query}`, { headers: { authorization: `Bearer ${admin}` } });
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status} ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

function parsePage(bytes: Buffer): Page {
  const page = JSON.parse(bytes.toString()) as Page;
  if (page.data.length === 0) throw new Error('a page without entries');
  return page;
}

interface Csv {
  copyMs: number;
  csvMs: number;
  grewMb: number;
}

/** Measures the middle million entries twice per side, in turns. Keeps the better result. */
async function measureCsv(bench: Bench): Promise<Csv> {
  const count = Math.min(CSV_ENTRIES, bench.entries / 2);
  const first = Math.floor((bench.entries - count) / 2);
  const range = { from: timeOf(first), to: timeOf(first + count) };
  const best = { copyMs: Number.POSITIVE_INFINITY, csvMs: Number.POSITIVE_INFINITY, grewMb: 0 };
  const before = residentMb(bench.pid);
  for (let turn = 0; turn < 2; turn += 1) {
    best.copyMs = Math.min(best.copyMs, await copyRange(bench.client, bench.accountId, range));
    const peak = await peakDuring(bench.pid, async () => {
      const { result: lines, ms } = await timed(() => countLines(bench, range));
      if (lines !== count + 1) throw new Error(`${lines} lines instead of ${count + 1}`);
      best.csvMs = Math.min(best.csvMs, ms);
    });
    best.grewMb = Math.max(best.grewMb, peak - before);
  }
  return best;
}

async function countLines({ url, admin }: Bench, range: { from: string; to: string }): Promise<number> {
  const headers = { authorization: `Bearer ${admin}`, accept: 'text/csv' };
  const answer = await fetch(`${url}?startTimestamp=${range.from}&endTimestamp=${range.to}`, { headers });
  if (answer.status !== 200 || !answer.body) throw new Error(`csv: ${answer.status}`);
  let lines = 0;
  for await (const chunk of answer.body) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return lines;
}

function reportFigures(waits: Waits, { copyMs, csvMs, grewMb }: Csv): { ok: boolean } {
  console.log(`pages of ${PAGE} entries against primary-key reads of ${PAGE} rows, one at a time`);
  const ratios = Object.values(waits).map((w) => percentile(w.pages, 0.99) / percentile(w.floor, 0.99));
  console.table(
    Object.entries(waits).map(([page, { pages, floor }], index) => ({
      page,
      'p50 ms': round(percentile(pages, 0.5)),
      'floor p50 ms': round(percentile(floor, 0.5)),
      'p99 ms': round(percentile(pages, 0.99)),
      'floor p99 ms': round(percentile(floor, 0.99)),
      'p99 ÷ floor': round(ratios[index] ?? 0),
    })),
  );
  const worst = Math.max(...ratios);
  const rate = copyMs / csvMs;
  console.log(`  p99 of a page ÷ floor, the worst (≤ 3): ${round(worst)}`);
  console.log(
    `  CSV, ${Math.round(csvMs)} ms; COPY, ${Math.round(copyMs)} ms; throughput ÷ COPY (≥ 0.5): ${round(rate)}`,
  );
  console.log(`  grown while the CSV is sent, MB (≤ 50): ${round(grewMb)}`);
  return { ok: worst <= 3 && rate >= 0.5 && grewMb <= 50 };
}
