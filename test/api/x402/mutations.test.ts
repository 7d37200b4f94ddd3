/** Invalid payments over HTTP: each is refused with its code, and reaches neither a chain nor the books. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refusedBody } from '../../../api/x402/schema.ts';
import { TOP_UP_WORKFLOW } from '../../../workflows/contract.ts';
import { type EvmChain, startEvmChain } from '../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../chains/rpcNode.ts';
import { ODD_ENCODINGS } from '../../harness/oddEncodings.ts';
import { createWorld } from '../../harness/services.ts';
import { together } from '../../harness/together.ts';
import { encode, PAYMENT_HEADERS, paidConfig, paidEnvironment } from '../../payments/paidWorld.ts';
import { changed, flatTable, type Row, secondTable } from '../../providers/payments/evm/mutationTable.ts';
import { PAYEE, payloadOf, signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { BENDS } from '../../providers/payments/solana/bends.ts';
import { createSolanaWorld, transactionText, type World } from '../../providers/payments/solana/solanaWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';

const PUBLIC = 'https://api.example';
const PATH = '/x402/top-up';

let chain: EvmChain;
let node: TestNode;
let solana: World;
let api: TestApi;
let second: Record<string, unknown>;
let flat: Record<string, unknown>;
let evmRows: { name: string; code: string; content: object }[];

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
  solana = await createSolanaWorld({
    chain: { genesisHash: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG' },
  });
  const { environment } = await createWorld();
  const { x402, limits } = paidConfig({ ...chain, rpcUrl: node.url });
  const { network, asset, payTo, rpcUrls } = solana.settings;
  const entry = { network, asset, payTo, rpcUrls, feePayerKeyEnv: 'SOLANA_FEE_KEY' };
  const config = { limits, x402: { networks: [...x402.networks, entry] } };
  Object.assign(environment, paidEnvironment(config), { SOLANA_FEE_KEY: solana.feeKey.secret });
  api = await startApi({ environment });
  api.opened.dependencies.core.config.publicUrl = PUBLIC;
  const signed = await signedOn(chain);
  const other = await signedOn(chain);
  const payload = payloadOf(signed);
  const accepted = await api.opened.dependencies.accounts.payments.get(chain.network)?.offer('10000000');
  second = {
    x402Version: 2,
    resource: { url: `${PUBLIC}/api/v1${PATH}` },
    accepted,
    payload,
    extensions: {},
  };
  flat = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload };
  const world = {
    nowS: BigInt(Math.floor(Date.now() / 1_000)),
    ...{ payee: PAYEE, payer: signed.payer.address, other: other.payer.address, usdc: chain.usdc },
    fakeUsd: await chain.deployNamed('FakeUSD'),
    ...{ signature: signed.signature, otherSignature: other.signature },
    nonce: signed.authorization.nonce,
  };
  evmRows = [...rowsOf(second, secondTable(world)), ...rowsOf(flat, flatTable(world))];
});
afterAll(async () => {
  await api?.stop();
  await solana?.close();
  await node?.close();
  await chain?.stop();
});

/** Drops rows whose value equals the signed one, which depends on the start time of the test. */
function rowsOf(content: object, table: readonly Row[]) {
  return table
    .flatMap(({ path, code, values }) =>
      values.map((value) => ({
        name: `${path} = ${JSON.stringify(value)}`,
        code,
        content: changed(content, path, value),
      })),
    )
    .filter((row) => JSON.stringify(row.content) !== JSON.stringify(content));
}

async function told(header: string, turn: number): Promise<{ status: number; code: string }> {
  const headers = { [PAYMENT_HEADERS[turn % 3] ?? '']: header };
  const response = await api.call(PATH, { method: 'POST', headers });
  const body: unknown = await response.json();
  const parsed = refusedBody.safeParse(body);
  return { status: response.status, code: parsed.success ? parsed.data.error : JSON.stringify(body) };
}

it('refuses hundreds of EVM payments with one changed field', async () => {
  expect(evmRows.length).toBeGreaterThan(400);
  const calls = evmRows.map(({ name, content }, turn) => async () => ({
    name,
    ...(await told(encode(content), turn)),
  }));
  expect(await together(calls, 12)).toEqual(evmRows.map(({ name, code }) => ({ name, code, status: 400 })));
});

it('refuses every violation of the Solana scheme in both envelopes', async () => {
  const { network } = solana.settings;
  const accepted = await api.opened.dependencies.accounts.payments.get(network)?.offer('6000000');
  const answers = [];
  // One exceeds the header limit and is refused unread.
  const rows = BENDS.filter(([name]) => name !== 'a megabyte');
  for (const [turn, [name, , bend]] of rows.entries()) {
    const payload = { transaction: await transactionText(solana, bend) };
    const content = turn % 2 === 0 ? { x402Version: 1, scheme: 'exact', network, payload } : undefined;
    answers.push({ name, ...(await told(encode(content ?? { x402Version: 2, accepted, payload }), turn)) });
  }
  // Version 2 compares `accepted` with the signed payment before it checks the payment itself.
  const orAmount = (code: string) => expect.stringMatching(new RegExp(`^(${code}|INVALID_AMOUNT)$`));
  const expected = rows.map(([name, code], turn) => {
    return { name, code: turn % 2 === 0 ? code : orAmount(code), status: 400 };
  });
  expect(answers).toEqual(expected);
  expect(rows.length).toBeGreaterThan(100);
  expect(solana.chain.submissions).toBe(0);
});

it.each(ODD_ENCODINGS)('refuses a valid payment %s', async (_name, write) => {
  for (const content of [second, flat]) {
    expect(await told(write(content), 0)).toEqual({ status: 400, code: 'INVALID_PAYMENT_FORMAT' });
  }
});

it('submits, records and starts nothing, except the workflow of the valid payment', async () => {
  expect(node.calls.get('eth_sendRawTransaction') ?? 0).toBe(0);
  expect(await chain.balanceOf(PAYEE)).toBe(0n);
  const {
    core: { sql },
    jobs: { temporal },
  } = api.opened.dependencies;
  const { rows } = await sql.query(
    `select (select count(*)::int from top_ups) as top_ups, (select count(*)::int from transfers) as transfers,
            (select count(*)::int from accounts) as accounts`,
  );
  expect(rows).toEqual([{ top_ups: 0, transfers: 0, accounts: 0 }]);
  // No worker runs here, so this workflow waits, like any other that had been started before.
  const leaving = new AbortController();
  const headers = { 'PAYMENT-SIGNATURE': encode(second) };
  const unanswered = api.call(PATH, { method: 'POST', headers, signal: leaving.signal }).catch(() => 'left');
  const started = () =>
    temporal.within(5_000, async ({ workflow }) => {
      const { count } = await workflow.count(`WorkflowType = '${TOP_UP_WORKFLOW}'`);
      return count;
    });
  await expect.poll(started).toBe(1);
  leaving.abort();
  expect(await unanswered).toBe('left');
});
