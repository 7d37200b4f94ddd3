import { expect, test } from 'vitest';
import { query } from '../../../dev/stack/parts/postgres.ts';
import { createBucket, createDatabase, createNamespace, services } from '../../harness/services.ts';

test('gives every test its own database and bucket', async () => {
  const [one, other] = await Promise.all([createDatabase(), createDatabase()]);
  expect(one).not.toBe(other);
  await query(one, 'create table mine (id int)');
  expect(await query(other, "select to_regclass('mine') as found")).toEqual([{ found: null }]);
  expect((await createBucket()).endpoint).toBe(services().s3.endpoint);
});

test('creates a namespace that is usable at once', async () => {
  expect(await createNamespace()).toMatch(/^test-/);
});
