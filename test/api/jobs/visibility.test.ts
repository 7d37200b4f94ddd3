/** Visibility between keys of one account: the jobs, events, deliveries and funds that each key sees. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimKey } from '../../../api/queue/idempotency.ts';
import type { Caller } from '../../../domain/caller.ts';
import { charge } from '../../../infra/postgres/ledger.ts';
import { type Payer, payer, SOLD } from '../billing/usageWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { acceptJob, failJob, PRICE } from './jobsWorld.ts';

const NAMES = ['admin', 'parent', 'child', 'sibling', 'stranger', 'wallet'] as const;
type Name = (typeof NAMES)[number];
const UNKNOWN = randomUUID();

let api: TestApi;
let owner: Payer;
const secrets = {} as Record<Name, string>;
const keyIds = {} as Record<Name, string | null>;
/** The ended job of each key. */
const jobs = {} as Record<Name, string>;

beforeAll(async () => {
  api = await startApi();
  const { sql } = api.opened.dependencies.core;
  owner = await payer(api);
  const { accountId } = owner;
  const keep = (name: Name, { secret, keyId }: { secret: string; keyId: string }) => {
    secrets[name] = secret;
    keyIds[name] = keyId;
    return keyId;
  };
  keep('admin', owner);
  const parentId = keep('parent', await api.newKey('INFERENCE', { accountId }));
  keep('child', await api.newKey('INFERENCE', { accountId, parentId }));
  keep('sibling', await api.newKey('INFERENCE', { accountId, parentId }));
  keep('stranger', await api.newKey('INFERENCE', { accountId }));
  keyIds.wallet = null;
  for (const name of NAMES) {
    jobs[name] = await acceptJob(sql, { accountId, keyId: keyIds[name] });
    await failJob(sql, jobs[name]);
  }
});
afterAll(() => api?.stop());

const VISIBLE: Record<Exclude<Name, 'wallet'>, readonly Name[]> = {
  admin: NAMES,
  parent: ['parent', 'child', 'sibling'],
  child: ['child'],
  sibling: ['sibling'],
  stranger: ['stranger'],
};
const LOOKERS = Object.entries(VISIBLE) as [Exclude<Name, 'wallet'>, readonly Name[]][];

async function ask(looker: Name, path: string, body?: object) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const headers = { 'content-type': 'application/json' };
  const response = await api.call(path, { key: secrets[looker], headers, ...init });
  return { status: response.status, text: await response.text() };
}

const model = 'local-voice-changer';
/** Every route for one job. */
const NAMED: [string, (looker: Name, queueId: string) => ReturnType<typeof ask>][] = [
  ['show', (looker, id) => ask(looker, `/jobs/${id}`)],
  ['events', (looker, id) => ask(looker, `/jobs/${id}/events`)],
  ['deliveries', (looker, id) => ask(looker, `/jobs/${id}/deliveries`)],
  ['resend', (looker, id) => ask(looker, `/jobs/${id}/deliveries/${UNKNOWN}/resend`, {})],
  ['cancel', (looker, id) => ask(looker, `/jobs/${id}/cancel`, {})],
  ['retrieve', (looker, id) => ask(looker, '/audio/voice-changer/retrieve', { model, queue_id: id })],
  ['complete', (looker, id) => ask(looker, '/audio/voice-changer/complete', { model, queue_id: id })],
];

describe.each(LOOKERS)('the key "%s"', (looker, visible) => {
  it.each([
    ['no filter', ''],
    ['the kind', '&kind=voice-changer'],
    ['the state', '&state=failed'],
    ['the model', '&model=quick'],
    ['the other order', '&order=asc'],
  ])('lists exactly its jobs and those of its children by %s', async (_what, filter) => {
    const { text } = await ask(looker, `/jobs?limit=100${filter}`);
    const found = (JSON.parse(text).data as { queue_id: string }[]).map(({ queue_id }) => queue_id);
    const expected = visible.map((name) => jobs[name]);
    if (!filter.includes('asc')) expected.reverse();
    expect(found).toEqual(expected);
  });

  it('lists them page by page', async () => {
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const page = JSON.parse((await ask(looker, `/jobs?limit=2${cursor}`)).text);
      found.push(...(page.data as { queue_id: string }[]).map(({ queue_id }) => queue_id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(found).toEqual(visible.map((name) => jobs[name]).reverse());
  });

  it.each(NAMED)('gets the same answer at "%s" for other keys\' jobs as for unknown ones', async (_route, call) => {
    const unknown = await call(looker, UNKNOWN);
    expect(unknown.text).toContain('Request ID is invalid.');
    for (const name of NAMES) {
      const answer = await call(looker, jobs[name]);
      const isHidden = answer.status === unknown.status && answer.text === unknown.text;
      expect(isHidden, name).toBe(!visible.includes(name));
    }
  });
});

describe('an Idempotency-Key', () => {
  const claim = (name: Name, header: string) => {
    const caller: Caller = {
      ...{
        accountId: owner.accountId,
        keyId: keyIds[name],
        keyType: name === 'admin' ? 'ADMIN' : 'INFERENCE',
      },
      ...{ modelPrivacy: 'ALL', models: null, keyExpiresAt: null },
    };
    return claimKey(api.opened.dependencies.core.sql, { caller, header, route: 'queue', body: { a: 1 } });
  };

  it('identifies the order of a key for itself and its parents, and is refused to other keys', async () => {
    const header = `shared-${randomUUID()}`;
    const first = await claim('child', header);
    for (const name of ['child', 'parent', 'admin'] as const) {
      expect(await claim(name, header)).toMatchObject({ known: true, queueId: first.queueId });
    }
    for (const name of ['sibling', 'stranger'] as const) {
      await expect(claim(name, header)).rejects.toMatchObject({ code: 'idempotency_mismatch' });
    }
  });
});

describe('GET /api_keys/rate_limits', () => {
  const balancesOf = async (secret: string) => {
    const response = await api.call('/api_keys/rate_limits', { key: secret });
    const { data } = (await response.json()) as { data: { accessPermitted: boolean; balances: object } };
    return { ...data.balances, permitted: data.accessPermitted };
  };

  it("shows the amount that a key can still spend: the least of funds, own limit and parent's limit", async () => {
    const { sql } = api.opened.dependencies.core;
    const usd = (whole: number) => BigInt(whole) * 1_000_000_000n;
    const poor = await payer(api, { usd: usd(50), bundled: usd(3), diem: usd(2) });
    const { accountId } = poor;
    const limits = (limit: bigint | null, diem: bigint | null = null) => ({ usd: limit, diem, vcu: null });
    const free = await api.newKey('INFERENCE', { accountId });
    const parent = await api.newKey('INFERENCE', { accountId, limits: limits(usd(20), usd(1)) });
    const child = await api.newKey('INFERENCE', {
      ...{ accountId, parentId: parent.keyId, limits: limits(usd(40)) },
    });
    const spent = await api.newKey('INFERENCE', { accountId, limits: limits(PRICE) });
    const whole = { USD: 50, BUNDLED_CREDITS: 3, DIEM: 2, permitted: true };
    expect(await balancesOf(poor.secret)).toEqual(whole);
    expect(await balancesOf(free.secret)).toEqual(whole);
    const capped = { USD: 17, BUNDLED_CREDITS: 3, DIEM: 1, permitted: true };
    expect(await balancesOf(parent.secret)).toEqual(capped);
    expect(await balancesOf(child.secret)).toEqual(capped);
    // Bundled credit pays the price, which also counts into the parent's limit.
    const price = { usd: usd(5), diem: 0n };
    const operation = { operationId: randomUUID(), accountId, keyId: child.keyId, price, snapshot: SOLD };
    expect(await charge(sql, operation)).toMatchObject({ outcome: 'charged' });
    const left = { USD: 15, BUNDLED_CREDITS: 0, DIEM: 1, permitted: true };
    expect(await balancesOf(child.secret)).toEqual(left);
    expect(await balancesOf(parent.secret)).toEqual(left);
    expect(await balancesOf(poor.secret)).toEqual({ ...whole, USD: 48, BUNDLED_CREDITS: 0 });
    expect(await balancesOf(spent.secret)).toMatchObject({ USD: 0.05, BUNDLED_CREDITS: 0 });
  });
});
