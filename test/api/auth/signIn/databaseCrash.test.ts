/** Kills a Postgres of its own: the sign-ins that it accepted before are known afterwards. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSignIn } from '../../../../api/auth/signIn/createSignIn.ts';
import { createLogger } from '../../../../infra/log.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { openPool, type Sql } from '../../../../infra/postgres/pool.ts';
import { type OwnPostgres, startOwnPostgres } from '../../../harness/ownPostgres.ts';
import { services } from '../../../harness/services.ts';
import { newEvmWallet, type Sent, signed } from '../../../harness/signIns.ts';
import { until } from '../../../harness/until.ts';
import { codeOf, OPEN_THROTTLE, SETTINGS } from './signInWorld.ts';

let folder: string;
let server: OwnPostgres;
let pool: Sql;

beforeAll(async () => {
  folder = path.join(services().folder, randomUUID());
  server = await startOwnPostgres({ folder, name: 'crashing-postgres' });
  await migrate(server.adminUrl);
  pool = openPool({ databaseUrl: server.adminUrl, applicationName: 'crash-test' });
});
afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

test('keeps every accepted sign-in when Postgres is killed meanwhile', async () => {
  const log = createLogger({ level: 'silent', name: 'crash-test' });
  const signIn = createSignIn({ settings: SETTINGS, sql: pool, clock: Date, log, throttle: OPEN_THROTTLE });
  const wallets = Array.from({ length: 4 }, newEvmWallet);
  const sents: Sent[] = [];
  for (let index = 0; index < 200; index += 1) {
    sents.push(await signed('evm fields', wallets[index % 4] ?? newEvmWallet()));
  }
  const accepted: Sent[] = [];
  const startedBefore = await startedAt();
  for (const [index, sent] of sents.entries()) {
    if (index === 100) killServer();
    const outcome = codeOf(signIn, sent).then(
      (code) => code === undefined && accepted.push(sent),
      // The outcome is unknown, so the sign-in does not count.
      () => undefined,
    );
    if (index < 100 || index % 10 === 9) await outcome;
  }
  expect(accepted.length).toBeGreaterThanOrEqual(100);
  await until('Postgres is back', async () => (await startedAt()) > startedBefore);
  for (const sent of accepted) expect(await codeOf(signIn, sent)).toBe('NONCE_REUSED');
  await signIn.close();
});

/** Unix ms, or 0 while Postgres does not answer. */
async function startedAt(): Promise<number> {
  const answer = await pool.query<{ at: Date }>('select pg_postmaster_start_time() as at').catch(() => undefined);
  return answer?.rows[0]?.at.getTime() ?? 0;
}

function killServer(): void {
  const [pid] = readFileSync(path.join(folder, 'data/postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
}
