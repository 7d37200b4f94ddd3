import { expect, test } from 'vitest';
import { query } from '../../../dev/stack/parts/postgres.ts';
import { createBucket, createDatabase, createNamespace, services } from '../../harness/services.ts';

test('every test gets a database and a bucket of its own', async () => {
  const [one, other] = await Promise.all([createDatabase(), createDatabase()]);
  expect(one).not.toBe(other);
  await query(one, 'create table mine (id int)');
  expect(await query(other, "select to_regclass('mine') as found")).toEqual([{ found: null }]);
  expect((await createBucket()).endpoint).toBe(services().s3.endpoint);
});

test('a namespace is usable as soon as it is named', async () => {
  expect(await createNamespace()).toMatch(/^test-/);
});
