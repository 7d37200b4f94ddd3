/** Client content leaves no trace: words sent in every place are in nothing that is stored (PRIVACY-1). */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { type Collector, startCollector } from '../stubs/collector.ts';
import { senders } from './canarySenders.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { serveEcho } from './echoSite.ts';
import { type EchoUpstream, startEchoUpstream, WAYS } from './echoUpstream.ts';
import { simulatedModels } from './models.ts';

const CANARIES = 1_000;
const AT_ONCE = 16;
/** Unique to this run. Digits and letters, like a password. */
const PREFIX = `canary${randomBytes(4).toString('hex')}x`;
const CANARY = new RegExp(`${PREFIX}[0-9a-f]{16}`, 'g');
const MAX_LOG_LENGTH = 4_000_000;

let farebox: Deployment;
let upstream: EchoUpstream;
let site: Awaited<ReturnType<typeof serveEcho>>;
let collector: Collector;
let metricsPort: number;
const statuses = new Map<string, Set<number>>();

beforeAll(async () => {
  [upstream, site, collector] = await Promise.all([startEchoUpstream(CANARY), serveEcho(CANARY), startCollector()]);
  [metricsPort = 0] = await freePorts(1);
  const { provider, models } = simulatedModels({ 'quick-voice': {}, 'failing-voice': { outcome: 'failed' } });
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  farebox = await openDeployment({
    configuration: {
      providers: { simulated: provider, ...echoProviders(upstream.baseUrl) },
      models: [...models, ...echoModels()],
      fetch: { allowPrivateHosts: [host, '127.0.0.1:1'] },
    },
    variables: {
      LOG_LEVEL: 'trace',
      FAREBOX_METRICS_PORT: String(metricsPort),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    },
  });
  await sendAll(senders({ farebox, site: `http://${host}` }));
});

afterAll(async () => {
  await farebox?.close();
  await Promise.all([upstream?.close(), collector?.close()]);
  site?.closeAllConnections();
  site?.close();
});

/** One provider per behaviour, because one that always fails would stop the others. */
function echoProviders(baseUrl: string): Record<string, object> {
  const entry = { kind: 'openai', baseUrl, allowPrivateNetwork: true };
  return Object.fromEntries(Object.keys(WAYS).map((way) => [`echo-${way}`, entry]));
}

function echoModels(): object[] {
  const price = { usd: 1, diem: 1 };
  const capabilities = { supportsVision: true, supportsAudioInput: true, supportsFunctionCalling: true };
  const text = { name: 'Echo', availableContextTokens: 100_000, capabilities };
  return Object.keys(WAYS).flatMap((way) => [
    {
      ...{ id: `echo-${way}`, type: 'text', provider: `echo-${way}`, privacy: 'private' },
      spec: { ...text, pricing: { input: price, output: price } },
    },
    {
      ...{ id: `embed-${way}`, type: 'embedding', provider: `echo-${way}`, privacy: 'private' },
      spec: { name: 'Echo', pricing: { input: price } },
    },
  ]);
}

async function sendAll(list: ReturnType<typeof senders>): Promise<void> {
  let next = 0;
  const sender = async () => {
    for (let index = next++; index < CANARIES; index = next++) {
      const [name, send] = list[index % list.length] ?? ['', async () => 0];
      const status = await send(`${PREFIX}${randomBytes(8).toString('hex')}`);
      statuses.set(name, (statuses.get(name) ?? new Set()).add(status));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
}

/** Plain and as stores and logs encode bytes. */
const DISGUISES = [
  PREFIX,
  Buffer.from(PREFIX).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), Buffer.from(PREFIX)])
      .toString('base64')
      .slice(4, 16),
  ),
];

/** Places of the word with their context. */
function leaksIn(place: string, text: string): string[] {
  const small = text.toLowerCase();
  return DISGUISES.flatMap((disguise) => {
    const at = disguise === PREFIX ? small.indexOf(disguise) : text.indexOf(disguise);
    return at < 0 ? [] : [`${place}: …${text.slice(Math.max(0, at - 200), at + 100)}`];
  });
}

describe('a word of a client', () => {
  it('reaches upstreams in every way, sites, and every kind of answer', () => {
    expect([...upstream.taken.keys()].sort()).toEqual(Object.keys(WAYS).sort());
    expect(upstream.heard.size).toBeGreaterThan(CANARIES / 5);
    expect(site.heard.size).toBeGreaterThan(CANARIES / 20);
    const seen = new Set([...statuses.values()].flatMap((each) => [...each]));
    for (const status of [200, 400, 401, 402, 404, 422, 429, 500, 503]) expect(seen).toContain(status);
    expect([...statuses].filter(([name, each]) => name.endsWith(': taken') && !each.has(200))).toEqual([]);
  });

  it('is in no log of any process at the most verbose level', () => {
    for (const [name, process] of [
      ['api', farebox.api],
      ['worker', farebox.worker],
    ] as const) {
      const text = process.logs();
      expect(text.length).toBeGreaterThan(500);
      expect(text.length, 'the log is whole').toBeLessThan(MAX_LOG_LENGTH);
      expect(leaksIn(name, text)).toEqual([]);
    }
    expect(farebox.api.logs()).toContain('"level":"debug"');
  });

  it('is in no metric and in no trace', async () => {
    for (const url of [`${farebox.origin}/metrics`, `http://127.0.0.1:${metricsPort}/metrics`]) {
      expect(leaksIn(url, await (await fetch(url)).text())).toEqual([]);
    }
    await eventually(async () => (collector.spans.length > CANARIES / 2 ? true : undefined));
    const spans = Buffer.concat(collector.bodies).toString('latin1');
    expect(leaksIn('traces', spans)).toEqual([]);
  });

  it('is in no table of the database', async () => {
    const { rows: tables } = await farebox.pool.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.length).toBeGreaterThan(10);
    for (const { name } of tables) {
      const { rows } = await farebox.pool.query<{ row: string }>(`select t::text as row from ${name} t`);
      expect(leaksIn(name, rows.map(({ row }) => row).join('\n'))).toEqual([]);
    }
    const { rows } = await farebox.pool.query('select count(*)::int as entries from usage_entries');
    expect(rows[0].entries).toBeGreaterThan(CANARIES / 10);
  });

  it('is in no key and no value of Redis', async () => {
    const redis = new Redis(farebox.environment.REDIS_URL ?? '');
    try {
      const keys = await redis.keys('*');
      expect(keys.length).toBeGreaterThan(0);
      const dumps = await Promise.all(keys.map((key) => contentOf(redis, key)));
      expect(leaksIn('redis', [...keys, ...dumps].join('\n'))).toEqual([]);
    } finally {
      redis.disconnect();
    }
  });

  it('is in no history of a workflow, in no object and in no file', async () => {
    const ids: string[] = [];
    for await (const { workflowId } of farebox.temporal.workflow.list()) ids.push(workflowId);
    expect(ids.length).toBeGreaterThan(2);
    for (const id of ids) expect(leaksIn(id, await farebox.historyOf(id))).toEqual([]);
    expect(await farebox.objects()).toEqual([]);
    expect(farebox.temporaryFiles()).toEqual([]);
    const config = farebox.environment.FAREBOX_CONFIG ?? '';
    expect(leaksIn(path.basename(config), readFileSync(config, 'utf8'))).toEqual([]);
  });
});

async function contentOf(redis: Redis, key: string): Promise<string> {
  switch (await redis.type(key)) {
    case 'string':
      return (await redis.get(key)) ?? '';
    case 'hash':
      return JSON.stringify(await redis.hgetall(key));
    case 'list':
      return (await redis.lrange(key, 0, -1)).join('\n');
    case 'set':
      return (await redis.smembers(key)).join('\n');
    case 'zset':
      return (await redis.zrange(key, '0', '-1')).join('\n');
    default:
      throw new Error(`${key} is of a kind that nobody looked into`);
  }
}
