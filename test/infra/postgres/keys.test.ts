import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { looksLikeSecret } from '../../../domain/keySecret.ts';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { createKey, findKey, hashSecret, listKeys, noteKeyUse, revokeKey } from '../../../infra/postgres/keys.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { createDatabase } from '../../harness/services.ts';

let sql: pg.Pool;
let accountId: string;
beforeAll(async () => {
  sql = openPool({ databaseUrl: await createDatabase(), applicationName: 'test' });
  accountId = (await createAccount(sql, { name: 'keys' })).id;
});
afterAll(() => sql.end());

describe('keys', () => {
  it('include a new key, found by the hash of its secret, with all that was set', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const { record, secret } = await createKey(sql, {
      accountId,
      keyType: 'INFERENCE',
      description: 'a',
      limits: { usd: 1_500_000_000n },
      limitPeriod: 'MONTH',
      modelPrivacy: 'PRIVATE_ONLY',
      expiresAt,
    });
    expect(secret).toMatch(/^FAREBOX_INFERENCE_KEY_[A-Za-z0-9_-]{43}$/);
    expect(looksLikeSecret(secret)).toBe(true);
    expect(record).toMatchObject({
      ...{ accountId, keyType: 'INFERENCE', description: 'a', last6: secret.slice(-6), limitPeriod: 'MONTH' },
      ...{
        limits: { usd: 1_500_000_000n, diem: null, vcu: null },
        expiresAt,
        lastUsedAt: null,
        revokedAt: null,
      },
    });
    expect(await findKey(sql, hashSecret(secret))).toEqual({
      ...{ keyId: record.id, accountId, keyType: 'INFERENCE', modelPrivacy: 'PRIVATE_ONLY' },
      ...{ models: null, expiresAt, revoked: false, accountActive: true, readAt: expect.any(Date) },
    });
    expect(await findKey(sql, hashSecret(`${secret}x`))).toBeUndefined();
  });

  it('keep a revoked key revoked and off the list', async () => {
    const { record, secret } = await createKey(sql, { accountId, keyType: 'ADMIN' });
    const first = await revokeKey(sql, record.id);
    expect((await revokeKey(sql, record.id))?.revokedAt).toEqual(first?.revokedAt);
    expect((await findKey(sql, hashSecret(secret)))?.revoked).toBe(true);
    expect((await listKeys(sql, accountId)).map(({ id }) => id)).not.toContain(record.id);
    expect(await revokeKey(sql, '00000000-0000-4000-8000-000000000000')).toBeUndefined();
  });

  it('keep the latest use when two processes record the same uses, without a deadlock', async () => {
    const keys = await Promise.all(
      Array.from({ length: 50 }, () => createKey(sql, { accountId, keyType: 'INFERENCE' })),
    );
    const ids = keys.map(({ record }) => record.id);
    const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 0, minute));
    const rounds = Array.from({ length: 20 }, (_, round) => {
      const order = round % 2 ? ids : [...ids].reverse();
      return noteKeyUse(sql, new Map(order.map((id) => [id, at(round)])));
    });
    await Promise.all(rounds);
    const known = new Set(
      (await listKeys(sql, accountId))
        .filter(({ id }) => ids.includes(id))
        .map(({ lastUsedAt }) => lastUsedAt?.getTime()),
    );
    expect(known).toEqual(new Set([at(19).getTime()]));
  });
});
