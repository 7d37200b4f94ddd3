/** Invalid sign-ins over HTTP, to routes of every kind. Each is refused with the code of its fault. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ODD_ENCODINGS } from '../../../harness/oddEncodings.ts';
import {
  encode,
  FORMS,
  type Form,
  newEvmWallet,
  newSolanaWallet,
  type Sent,
  signed,
  takingSignIns,
} from '../../../harness/signIns.ts';
import { together } from '../../../harness/together.ts';
import { NETWORK, scriptedNetwork } from '../../../payments/scriptedNetwork.ts';
import { startApi, type TestApi } from '../../startApi.ts';
import { mutations } from './mutations.ts';

const nowMs = Date.now();
const ROWS = mutations(nowMs);
const SOMEBODY = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const ROUTES = [
  ['POST', '/chat/completions'],
  ['GET', '/jobs'],
  ['POST', '/crypto/rpc/base-mainnet'],
  ['POST', '/augment/scrape'],
  ['GET', `/x402/balance/${SOMEBODY}`],
] as const;

let api: TestApi;
const good = new Map<Form, Sent>();

beforeAll(async () => {
  // The times of the rows are some seconds around it, whenever their turn comes.
  vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
  api = await startApi({
    config: (config) => ({
      ...takingSignIns(config),
      limits: { ...config.limits, perAddressPerMinute: 1_000_000 },
    }),
  });
  (api.opened.dependencies.accounts.payments as Map<string, unknown>).set(NETWORK, scriptedNetwork());
  for (const form of FORMS) {
    const wallet = form.startsWith('evm') ? newEvmWallet() : newSolanaWallet();
    good.set(form, await signed(form, wallet, { nowMs }));
  }
});
afterAll(async () => {
  vi.useRealTimers();
  await api.stop();
});

/** Returns the status and body of the response. Routes for wallets alone answer without a code. */
async function told(name: string, header: string, turn: number): Promise<{ name: string; said: unknown }> {
  const [method, path] = ROUTES[turn % ROUTES.length] ?? ROUTES[0];
  const field = turn % 2 === 0 ? 'SIGN-IN-WITH-X' : 'X-Sign-In-With-X';
  const response = await api.call(path, { method, headers: { [field]: header } });
  return { name, said: [response.status, await response.json()] };
}

function expected(name: string, code: string, turn: number): { name: string; said: unknown } {
  const isOwn = ROUTES[turn % ROUTES.length]?.[1].startsWith('/x402/');
  const body = isOwn
    ? { error: 'Invalid Sign-in-with-x signature' }
    : { error: expect.any(String), code: `X402_SIGN_IN_${code}` };
  return { name, said: [401, body] };
}

it(`refuses ${ROWS.length} sign-ins with one change by their code, and none for their number`, async () => {
  expect(ROWS.length).toBeGreaterThan(1_000);
  const calls = ROWS.map(([form, name, change], turn) => async () => {
    return await told(`${form} ${name}`, encode(change(good.get(form) ?? {})), turn);
  });
  const answers = await together(calls, 16);
  expect(answers).toEqual(ROWS.map(([form, name, , code], turn) => expected(`${form} ${name}`, code, turn)));
});

it.each(ODD_ENCODINGS)('refuses a valid sign-in %s as unreadable', async (name, write) => {
  for (const [turn, form] of FORMS.entries()) {
    const header = write(good.get(form) ?? {});
    // A comma, with which HTTP joins headers, may stand for two sign-ins.
    const asTwo = { name, said: [400, { error: expect.stringContaining('exactly one credential') }] };
    const refused = header.includes(',') ? asTwo : expected(name, 'PARSE_ERROR', turn);
    expect(await told(name, header, turn)).toEqual(refused);
  }
});

it('refuses a header above the limit for all headers unread', async () => {
  const response = await api.call('/jobs', { headers: { 'SIGN-IN-WITH-X': 'A'.repeat(17_000) } });
  expect(response.status).toBe(431);
});

it('writes nothing for refused sign-ins, and accepts each original once', async () => {
  const { sql } = api.opened.dependencies.core;
  const { rows } = await sql.query(
    `select (select count(*)::int from sign_in_nonces) as nonces, (select count(*)::int from accounts) as accounts,
            (select count(*)::int from operations) as operations`,
  );
  expect(rows).toEqual([{ nonces: 0, accounts: 0, operations: 0 }]);
  for (const form of FORMS) {
    const headers = { 'SIGN-IN-WITH-X': encode(good.get(form)) };
    expect((await api.call('/jobs', { headers })).status, form).toBe(200);
    expect((await api.call('/jobs', { headers })).status, form).toBe(401);
  }
});
