/** Pictures from a provider that are lost here, because the account's slots for finishing them are taken. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEFAULT_CREATED, type ImageModel } from '../../../domain/catalogue/model.ts';
import { CARD, type ImageWorld, openImageWorld, withStub } from './world.ts';

const PAINTER: ImageModel = {
  ...{ id: 'painter', name: 'Painter', upstreamModel: 'painter', provider: 'local', privacy: 'private' },
  ...{ description: '', modelSource: '', created: DEFAULT_CREATED, kind: 'image', type: 'image' },
  spec: { pricing: { generation: { usd: 0.02, diem: 0.02 } } },
};

let world: ImageWorld;
beforeAll(async () => {
  world = await openImageWorld((config) => {
    const foreign = { kind: 'openai', baseUrl: 'http://127.0.0.1:9', allowPrivateNetwork: true } as const;
    return { ...withStub([PAINTER])(config), providers: { ...config.providers, local: foreign } };
  });
  world.imageProvider.readsAll = false;
});
afterAll(() => world.api.stop());

/** More work than the queue of an account holds. */
const TOO_MUCH = 100;

/** Occupies every slot of the account until the work is done. */
async function withoutPlaces<T>(work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const share = world.api.opened.dependencies.limits.accountShares.open(world.accountId);
  const busy = () => new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()));
  world.imageProvider.next = () => {
    for (let count = 0; count < TOO_MUCH; count += 1)
      share.inSlot('pictures', busy, over.signal).catch(() => undefined);
  };
  try {
    return await work();
  } finally {
    over.abort();
    share.release();
  }
}

async function countedUsd(): Promise<bigint> {
  const { sql } = world.api.opened.dependencies.core;
  const { rows } = await sql.query('select usd::text from refunded_days where account_id = $1', [world.accountId]);
  return BigInt(rows[0]?.usd ?? 0);
}

const image = CARD.toString('base64');
const ORDERS: [path: string, body: object][] = [
  ['/image/generate', { model: 'painter', prompt: 'A tram' }],
  ['/image/edit', { model: 'local-edit', prompt: 'blur', image }],
  ['/image/background-remove', { image }],
];

it.each(ORDERS)('count into the refund budget and are never billed: %s', async (path, body) => {
  const { overrides } = world.api.opened.dependencies.core.config.limits;
  const before = await countedUsd();
  for (const refundedPerDay of [100, 0]) {
    overrides[world.accountId] = { refundedPerDay };
    const response = await withoutPlaces(() => world.post(path, body));
    expect([response.status, await world.spent(), await world.held()]).toEqual([429, [], 0]);
  }
  expect(await countedUsd()).toBeGreaterThan(before);
});
