/**
 * Top-ups paid on a local chain, from the POST to the 200 with the credit: settled by the service and by the reference
 * facilitator, one at a time and several at a time. The floor is the bare settlement on the same chain in the same run:
 * a transfer sent and its receipt seen.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { type Hex, toHex } from 'viem';
import { generatePrivateKey, mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { chainClient } from '../dev/chain/chainClient.ts';
import { type DemoChain, startDemoChain } from '../dev/chain/demoChain.ts';
import { demoWallets, privateKeyOf } from '../dev/chain/demoSecrets.ts';
import { TEST_USD } from '../dev/chain/testUsd.ts';
import { untilMined } from '../dev/chain/untilMined.ts';
import { locateProgram } from '../dev/stack/locate.ts';
import { createProgress } from '../dev/stack/progress.ts';
import { anvilRecipe } from '../dev/stack/recipes/anvil.ts';
import type { SupervisedProcess } from '../dev/stack/supervise.ts';
import { toWallet } from '../domain/wallets.ts';
import { processEnvironment } from '../infra/config/environment.ts';
import { checkLedger } from '../infra/postgres/ledgerCheck.ts';
import { openPool } from '../infra/postgres/pool.ts';
import { walletAccountId } from '../infra/postgres/walletAccounts.ts';
import { TRANSFER_TYPES } from '../providers/payments/evm/token.ts';
import { inLanes, percentile, round } from './statistics.ts';
import { configure, openWorld, type World } from './world.ts';

/** Five dollars, the smallest payment, in millionths. */
const UNITS = 5_000_000n;
const NANO_PER_UNIT = 1_000n;
const LANES = 8;
const PAYERS = 8;
const WARM_UP = 8;
const VALID_S = 280;
/** Each transaction is mined at once. */
const BLOCK_MS = 0;
const BAR_MS = 500;
const RECEIPT_POLL_MS = 5;

type Settler = 'the service' | 'the facilitator';

interface Chain extends DemoChain {
  payers: readonly PrivateKeyAccount[];
  /** Key of the account that pays the fees when the service settles. */
  feeKey: Hex;
  /** Account that settles the payments of the floor. */
  bare: PrivateKeyAccount;
  stop(): Promise<void>;
}

interface Payment {
  signature: Hex;
  authorization: { from: Hex; to: Hex; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex };
}

interface Row {
  side: string;
  lanes: number;
  ms: number[];
  failed: number;
}

/** Settles one payment. False when it was not credited. */
type Settle = (payment: Payment) => Promise<boolean>;

export async function benchmarkTopUp(options: { topUps?: number } = {}): Promise<{ ok: boolean }> {
  const topUps = options.topUps ?? 60;
  const world = await openWorld({});
  let chain: Chain | undefined;
  try {
    chain = await openChain(world, topUps);
    const rows: Row[] = [...(await measureSettlements(chain, 'the floor', { settle: bareSettlement(chain), topUps }))];
    for (const side of ['the service', 'the facilitator'] as const) {
      const service = await openService(world, chain, side);
      rows.push(...(await measureSettlements(chain, side, { settle: service.settle, topUps })));
      await service.stop();
    }
    const paid = BigInt(2 * (WARM_UP + 2 * topUps));
    return { ok: reportFigures(rows, await problemsOf(world, chain, paid)) };
  } finally {
    await chain?.stop();
    await world.close();
  }
}

/** Starts the demo chain and funds the payers for all payments of the run. */
async function openChain(world: World, topUps: number): Promise<Chain> {
  const progress = createProgress({ write: (text) => process.stderr.write(text), isTerminal: false });
  const program = await locateProgram(anvilRecipe, { environment: processEnvironment(), progress });
  const folder = path.join(world.folder, 'demo');
  const started: SupervisedProcess[] = [];
  const register = (part: SupervisedProcess) => started.push(part);
  const demo = await startDemoChain({ program, folder, supervision: { folder, register } });
  const { mnemonic, bank } = demoWallets(path.join(folder, 'chain'));
  const client = chainClient(demo.rpcUrl, demo.chainId, bank);
  const payers = Array.from({ length: PAYERS }, () => privateKeyToAccount(generatePrivateKey()));
  const units = UNITS * BigInt(3 * (WARM_UP + 2 * topUps));
  for (const { address } of payers) {
    const token = { address: demo.asset, abi: TEST_USD.abi };
    const hash = await client.writeContract({ ...token, functionName: 'mint', args: [address, units] });
    await untilMined(client, hash);
  }
  const account = (addressIndex: number) => privateKeyOf(mnemonicToAccount(mnemonic, { addressIndex }));
  return {
    ...{ ...demo, payers, feeKey: account(4), bare: privateKeyToAccount(account(5)) },
    stop: async () => void (await Promise.all(started.map((part) => part.stop()))),
  };
}

async function openService(world: World, chain: Chain, side: Settler) {
  const { network, asset, payTo, rpcUrl, facilitatorUrl } = chain;
  const settled = side === 'the service' ? { feePayerKeyEnv: 'FEE_KEY' } : { facilitatorUrl };
  // No confirmations, as in the demonstration: this chain has no reorganisations.
  const entry = { network, asset, payTo, rpcUrl, ...settled, confirmations: 0, allowPrivateNetwork: true };
  const config = { limits: { perAddressPerMinute: 1_000_000_000 }, x402: { networks: [entry] } };
  const extra = { ...configure(world, config), FEE_KEY: chain.feeKey };
  const worker = await world.start('worker', extra);
  const api = await world.start('api', extra);
  const settle: Settle = async (payment) => {
    const headers = { 'payment-signature': headerOf(chain, payment) };
    const answer = await fetch(`${api.origin}/api/v1/x402/top-up`, { method: 'POST', headers });
    const words = await answer.text();
    if (answer.status !== 200) console.log(`top-up: ${answer.status} ${words.slice(0, 300)}`);
    return answer.status === 200;
  };
  const stop = async () => void (await Promise.all([api.stop(10_000), worker.stop(10_000)]));
  return { settle, stop };
}

function bareSettlement(chain: Chain): Settle {
  const client = chainClient(chain.rpcUrl, chain.chainId, chain.bare);
  const token = { address: chain.asset, abi: TEST_USD.abi };
  // Nonces are counted here because nothing else sends from this account.
  let next = 0;
  return async ({ authorization: a, signature }) => {
    const nonce = next;
    next += 1;
    const args = [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, signature];
    const call = { ...token, functionName: 'transferWithAuthorization', args, nonce };
    const hash = await client.writeContract(call);
    const receipt = await untilMined(client, hash, RECEIPT_POLL_MS);
    return receipt.status === 'success';
  };
}

/** Payments are signed before the measurement. */
async function measureSettlements(
  chain: Chain,
  side: string,
  { settle, topUps }: { settle: Settle; topUps: number },
): Promise<Row[]> {
  const turn = async (lanes: number, count: number): Promise<Row> => {
    const payments = await Promise.all(Array.from({ length: count }, (_, index) => signPayment(chain, index)));
    const row: Row = { side, lanes, ms: [], failed: 0 };
    await inLanes(lanes, count, async (index) => {
      const startMs = performance.now();
      const isSettled = await settle(payments[index - 1] as Payment);
      row.ms.push(performance.now() - startMs);
      if (!isSettled) row.failed += 1;
    });
    return row;
  };
  await turn(1, WARM_UP);
  return [await turn(1, topUps), await turn(LANES, topUps)];
}

async function signPayment({ asset, chainId, payTo, payers }: Chain, index: number): Promise<Payment> {
  const payer = payers[index % payers.length] as PrivateKeyAccount;
  const authorization = {
    ...{ from: payer.address, to: payTo, value: UNITS, nonce: toHex(randomBytes(32)) },
    ...{ validAfter: 0n, validBefore: BigInt(Math.floor(Date.now() / 1_000) + VALID_S) },
  };
  const signature = await payer.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId, verifyingContract: asset },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
  return { authorization, signature };
}

function headerOf({ network, asset, payTo }: Chain, { authorization, signature }: Payment): string {
  const accepted = {
    ...{ scheme: 'exact', network, amount: String(UNITS), asset, payTo },
    ...{ maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
  };
  const envelope = { x402Version: 2, accepted, payload: { signature, authorization } };
  const text = JSON.stringify(envelope, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return Buffer.from(text).toString('base64');
}

/** Checks that each payment was credited once, by the ledger and by the list of top-ups. */
async function problemsOf({ environment }: World, { payers }: Chain, paid: bigint): Promise<string[]> {
  const pool = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'bench', max: 1 });
  try {
    const accountIds = payers.flatMap(({ address }) => {
      const wallet = toWallet(address);
      return wallet ? [walletAccountId(wallet)] : [];
    });
    const credits = await pool.query<{ count: string; sum: string }>(
      `select count(*), coalesce(sum(amount), 0)::text as sum from transfers
       where kind = 'top_up' and account_id::text = any($1)`,
      [accountIds],
    );
    const ends = await pool.query<{ count: string }>(`select count(*) from top_ups where state = 'credited'`);
    const { count = '0', sum = '0' } = credits.rows[0] ?? {};
    const broken = await checkLedger(pool);
    return [
      ...(BigInt(count) === paid ? [] : [`${count} credits for ${paid} payments`]),
      ...(BigInt(sum) === paid * UNITS * NANO_PER_UNIT ? [] : [`${sum} nano-USD credited`]),
      ...(ends.rows[0]?.count === String(paid) ? [] : [`${ends.rows[0]?.count} top-ups say "credited"`]),
      ...broken.map(({ invariant }) => `the ledger breaks "${invariant}"`),
    ];
  } finally {
    await pool.end();
  }
}

function reportFigures(rows: readonly Row[], problems: readonly string[]): boolean {
  console.log('top-ups of 5 USD on a local chain, from the POST to the 200; one api, one worker');
  console.table(
    rows.map(({ side, lanes, ms, failed }) => ({
      ...{ 'settled by': side === 'the floor' ? 'a bare transfer (floor)' : side, 'in flight': lanes },
      ...{ 'p50 ms': round(percentile(ms, 0.5)), 'p95 ms': round(percentile(ms, 0.95)) },
      ...{ 'block time ms': BLOCK_MS, failed },
    })),
  );
  for (const problem of problems) console.log(`  ${problem}`);
  const single = rows.filter(({ side, lanes }) => side !== 'the floor' && lanes === 1);
  const slowest = Math.max(...single.map(({ ms }) => percentile(ms, 0.5)));
  console.log(`  p50 one after the other, the slower way, ms (<= ${BAR_MS + BLOCK_MS}): ${round(slowest)}`);
  const failed = rows.reduce((sum, row) => sum + row.failed, 0);
  return slowest <= BAR_MS + BLOCK_MS && failed === 0 && problems.length === 0;
}
