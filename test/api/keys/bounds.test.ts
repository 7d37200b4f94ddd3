/** Limits of 20 creations a minute and 500 active keys, exact over two processes that create at once. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, INFERENCE, type KeyReply, type Reply } from './keyClient.ts';

let api: TestApi;
let other: TestApi;
beforeAll(async () => {
  api = await startApi();
  other = await startApi({ environment: api.environment });
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

function createAtOnce(key: string, count: number): Promise<Reply<KeyReply>[]> {
  const one = (_: unknown, index: number) =>
    ask(index % 2 === 0 ? api : other, 'POST /api_keys', { key, body: INFERENCE });
  return Promise.all(Array.from({ length: count }, one));
}

const withStatus = (replies: Reply<KeyReply>[], status: number) => replies.filter((reply) => reply.status === status);

async function activeKeys(accountId: string): Promise<number> {
  const { rows } = await api.opened.dependencies.core.sql.query<{ active: number }>(
    `select count(*)::int as active from api_keys
      where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > now())`,
    [accountId],
  );
  return rows[0]?.active ?? 0;
}

/** Moves the account's creations so far two minutes back. */
async function twoMinutesLater(accountId: string): Promise<void> {
  await api.opened.dependencies.core.sql.query(
    `update api_keys set created_at = created_at - interval '2 minutes' where account_id = $1`,
    [accountId],
  );
}

async function addKeys(accountId: string, count: number): Promise<void> {
  await api.opened.dependencies.core.sql.query(
    `insert into api_keys (account_id, secret_hash, key_type, last6, created_at)
      select $1, decode(md5($3 || n) || md5(n || $3), 'hex'), 'INFERENCE', 'abcdef', now() - interval '1 hour'
      from generate_series(1, $2) n`,
    [accountId, count, randomBytes(8).toString('hex')],
  );
}

describe('creations per minute', () => {
  it('allow exactly 20 of 25 at once, and give the others a retry time', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    const replies = await createAtOnce(secret, 25);
    expect(withStatus(replies, 200)).toHaveLength(20);
    const refused = withStatus(replies, 429);
    expect(refused).toHaveLength(5);
    const words = 'At most 20 API keys can be created per minute.';
    for (const { body, headers } of refused) {
      expect(body).toEqual({ error: words, customMessage: words });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(40);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect(await activeKeys(accountId)).toBe(21);
  });

  it('count for the account and one minute, whichever key makes them, with deleted ones', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    const made = withStatus(await createAtOnce(secret, 20), 200);
    await ask(api, `DELETE /api_keys?id=${made[0]?.body.data.id}`, { key: secret });
    const second = await api.newKey('ADMIN', { accountId });
    expect((await createAtOnce(second.secret, 1))[0]?.status).toBe(429);
    expect((await createAtOnce((await api.newKey('ADMIN')).secret, 1))[0]?.status).toBe(200);
    await twoMinutesLater(accountId);
    expect((await createAtOnce(secret, 1))[0]?.status).toBe(200);
  });

  it('are allowed one by one as earlier ones leave the minute', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    const made = withStatus(await createAtOnce(secret, 20), 200);
    await api.opened.dependencies.core.sql.query(
      `update api_keys set created_at = created_at - interval '1 minute' where id = $1`,
      [made[0]?.body.data.id],
    );
    expect(withStatus(await createAtOnce(secret, 4), 200)).toHaveLength(1);
    expect(await activeKeys(accountId)).toBe(22);
  });
});

describe('active keys', () => {
  it('stop at exactly 500 under simultaneous creations', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    await addKeys(accountId, 493);
    const replies: Reply<KeyReply>[] = [];
    for (let wave = 0; wave < 10; wave += 1) replies.push(...(await createAtOnce(secret, 51)));
    expect(withStatus(replies, 200)).toHaveLength(6);
    expect(withStatus(replies, 400)).toHaveLength(504);
    expect(withStatus(replies, 400)[0]?.body).toEqual({
      error: 'An account can have at most 500 active API keys.',
    });
    expect(await activeKeys(accountId)).toBe(500);
  });

  it('exclude expired and revoked ones', async () => {
    const { secret, accountId } = await api.newKey('ADMIN');
    await addKeys(accountId, 499);
    const asked = async () => (await createAtOnce(secret, 1))[0]?.status;
    expect(await asked()).toBe(400);
    const { sql } = api.opened.dependencies.core;
    const one = `(select id from api_keys where account_id = $1 and last6 = 'abcdef' and revoked_at is null limit 1)`;
    await sql.query(`update api_keys set revoked_at = now() where id = ${one}`, [accountId]);
    expect([await asked(), await asked()]).toEqual([200, 400]);
    await sql.query(`update api_keys set expires_at = now() where id = ${one}`, [accountId]);
    expect([await asked(), await asked()]).toEqual([200, 400]);
    const list = await ask<{ data: unknown[] }>(api, 'GET /api_keys', { key: secret });
    expect(list.body.data).toHaveLength(500);
  });
});
