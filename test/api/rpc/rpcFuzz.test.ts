/** Thousands of requests: malformed ones never reach a node, and random batches are billed to the last nano. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { ADMITTED, NETWORKS, REFUSED } from '../../domain/rpc/documented.ts';
import { longRun } from '../../infra/postgres/longRun.ts';
import { booked, newPayer, post, type RpcPayer, type RpcReply, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

vi.setConfig({ testTimeout: longRun(600_000, 1_800_000) });

let world: RpcWorld;

beforeAll(async () => {
  world = await startRpcWorld();
});
afterAll(async () => {
  await world.close();
});

/** Random numbers that a seed reproduces. */
function numbers(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    below: (limit: number) => Math.floor(next() * limit),
    oneOf: <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T,
    chance: (share: number) => next() < share,
  };
}
type Numbers = ReturnType<typeof numbers>;

/** Runs the work sixteen at a time. */
async function each<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const lane = async () => {
    while (next < count) {
      next += 1;
      done.push(await work(next - 1));
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  return done;
}

interface Priced {
  name: string;
  credits: number;
}

const documented = new Map<string, Priced[]>(
  NETWORKS.map(({ slug, family, base }) => [
    slug,
    ADMITTED.filter(
      ({ of, only }) => of === family && (only === undefined || only.some((part) => slug.startsWith(part))),
    ).flatMap(({ names, times }) => names.map((name) => ({ name, credits: base * times }))),
  ]),
);
const EVERY_METHOD = [...ADMITTED.flatMap(({ names }) => names), ...Object.values(REFUSED).flat()];
const SLUGS = NETWORKS.map(({ slug }) => slug);

const ODD_TEXTS = [
  ...['"', '\\', '\\u0000', '\\u0065', '\0', ' ', '\u200b', 'е', 'Ａ', '{', '}', '[', ']', ',', ':'],
  ...['"method":"eth_sign",', '"method":"eth_subscribe"', '"m\\u0065thod":"eth_sendTransaction",', '"id":1,'],
  ...['"__proto__":{"method":"eth_sign"},', 'null', 'true', '1e400', '-0', '1'.repeat(400), '[[', ']]', '"params":[]'],
];

function bent(random: Numbers, text: string): string {
  let body = text;
  for (let turn = random.below(4); turn >= 0; turn -= 1) {
    const at = random.below(body.length + 1);
    const until = at + random.below(6);
    switch (random.below(5)) {
      case 0:
        body = body.slice(0, at) + random.oneOf(ODD_TEXTS) + body.slice(at);
        break;
      case 1:
        body = body.slice(0, at) + body.slice(until);
        break;
      case 2:
        body = body.slice(0, at) + body.slice(at, until).toUpperCase() + body.slice(until);
        break;
      case 3:
        body = body.slice(0, until) + body.slice(at);
        break;
      default: {
        const method = random.oneOf(EVERY_METHOD);
        body = body.replace(/"method":"[^"]*"/, `"method":"${method}${random.oneOf(['', '', '', ' ', '\\u0000'])}"`);
      }
    }
  }
  return body;
}

function item(random: Numbers, slug: string): string {
  const { name } = random.oneOf(documented.get(slug) ?? []);
  const id = random.oneOf(['1', '"a"', 'null', '12345678901234567890']);
  return `{"jsonrpc":"2.0","id":${id},"method":"${name}","params":[${random.oneOf(['', '"0x1"', '{"a":[1]}'])}]}`;
}

it.each(['plain', 'shipped'] as const)(
  'malformed requests send a node only listed methods and cause no internal error (%s upstreams)',
  async (kind) => {
    const asked = kind === 'plain' ? world : await startRpcWorld({ upstreams: kind });
    const payer = await newPayer(asked, 10n ** 15n);
    const random = numbers(kind.length);
    const statuses: Record<number, number> = {};
    await each(longRun(2_000, 100_000), async () => {
      const network = random.oneOf(SLUGS);
      const items = Array.from({ length: 1 + random.below(3) }, () => item(random, network));
      const whole = random.chance(0.5) ? (items[0] ?? '') : `[${items.join(',')}]`;
      const body = random.chance(0.1) ? whole : bent(random, whole);
      const { status } = await post(asked, payer, { network, body });
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
    const admitted = new Set(
      [...documented].flatMap(([slug, methods]) => methods.map(({ name }) => `${slug} ${name}`)),
    );
    if (asked !== world) await asked.close();
    expect([...asked.node.seen].filter((name) => !admitted.has(name))).toEqual([]);
    expect(Object.keys(statuses).map(Number).sort()).toEqual([200, 400]);
    expect(statuses[200]).toBeGreaterThan(100);
  },
);

interface Batch {
  network: string;
  body: string;
  credits: number;
}

const SHAPES = ['', '', '', '"error"', '"other id"', '"no id"', '"both"', '"neither"'];

/** Documented prices: a result its price, any other answer 5, HTTP 4xx 5 each, and 402, 429 and 5xx nothing. */
function randomBatch(random: Numbers): Batch {
  const network = random.oneOf(SLUGS);
  const calls = Array.from({ length: 1 + random.below(random.chance(0.1) ? 100 : 8) }, () => ({
    ...random.oneOf(documented.get(network) ?? []),
    shape: random.oneOf(SHAPES),
  }));
  const status = random.chance(0.2) ? random.oneOf([400, 401, 402, 403, 404, 429, 500, 502, 503]) : 200;
  const texts = calls.map(
    ({ name, shape }, id) =>
      `{"method":"${name}","id":${id},"params":[${[shape, id === 0 && status !== 200 ? `"status ${status}"` : '']
        .filter(Boolean)
        .join(',')}]}`,
  );
  const free = status === 402 || status === 429 || status >= 500;
  const credits = calls.reduce((sum, one) => sum + (one.shape === '' && status === 200 ? one.credits : 5), 0);
  const isSingle = calls.length === 1 && random.chance(0.5);
  return {
    network,
    body: isSingle ? (texts[0] ?? '') : `[${texts.join(',')}]`,
    credits: free ? 0 : credits,
  };
}

const chargedIn = ({ headers }: RpcReply) => Number(headers.get('x-service-rpc-credits') ?? 0);

it('random batches have equal credits, headers, usage and ledger entries', async () => {
  const amount = 10n ** 15n;
  const payer: RpcPayer = await newPayer(world, amount);
  const random = numbers(2);
  const { sql } = world.api.opened.dependencies.core;
  const charged: number[] = [];
  const wrong: unknown[] = [];
  await each(longRun(500, 10_000), async () => {
    const { network, body, credits } = randomBatch(random);
    const reply = await post(world, payer, { network, body });
    const told = [chargedIn(reply), reply.headers.get('x-service-rpc-cost-usd')];
    const cost = `0.${String(credits * 70).padStart(8, '0')}`;
    if (told[0] !== credits || (told[1] ?? cost) !== cost) wrong.push({ network, body, credits, told });
    if (credits > 0) charged.push(credits);
  });
  expect(wrong).toEqual([]);
  const entries = await booked(world, payer);
  const numerically = (left: number, right: number) => left - right;
  expect(entries.map(({ units }) => Number(units)).sort(numerically)).toEqual(charged.sort(numerically));
  expect(entries.filter(({ units, amount: nano }) => BigInt(nano) !== BigInt(units) * 700n)).toEqual([]);
  const sum = charged.reduce((total, credits) => total + BigInt(credits) * 700n, 0n);
  const balance = await balanceOf(sql, payer.accountId);
  expect(balance?.usd).toEqual(amount - sum);
  expect(await checkLedger(sql)).toEqual([]);
});
