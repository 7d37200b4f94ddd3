/**
 * Chat signed by wallets with a new sign-in per request, against the same chat with API keys. A wallet adds signature,
 * nonce, calls in flight, funds and balance. The API has one core, everything else the other.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { BASE_MAINNET, toWallet } from '../domain/wallets.ts';
import { topUp } from '../infra/postgres/ledger.ts';
import { inTransaction, openPool } from '../infra/postgres/pool.ts';
import { openWalletAccount, walletAccountId } from '../infra/postgres/walletAccounts.ts';
import { startChatApi } from './chat.ts';
import { type LeanRequest, LOAD_CONNECTIONS, openLeanClient } from './leanClient.ts';
import { percentile, reachesBars } from './statistics.ts';
import { openWorld, pinToOneCore, type World } from './world.ts';

/** Gives each wallet four concurrent calls, one less than its limit. */
const WALLETS = 8;
const ROUNDS = 3;
const SETTLE_MS = 500;
const MIN_RATIO = 0.35;
const BODY = JSON.stringify({
  model: 'bench-chat',
  messages: [{ role: 'user', content: 'Tell me something about the price of a ride.' }],
});

export async function benchmarkWallets(options: { requests?: number } = {}): Promise<{ ok: boolean }> {
  const requests = options.requests ?? 4_000;
  const world = await openWorld({});
  try {
    const signers = Array.from({ length: WALLETS }, () => privateKeyToAccount(generatePrivateKey()));
    const accountIds = signers.map(accountOf);
    const payer = await world.createPayer();
    await fillWallets(world, signers);
    const api = await openApi(world, [payer.accountId, ...accountIds]);
    const figures = { keys: [] as number[], wallets: [] as number[] };
    let failed = 0;
    for (let round = 0; round <= ROUNDS; round += 1) {
      const byKey = Array.from({ length: requests }, () => ({ authorization: `Bearer ${payer.inference}` }));
      const keys = await sendRequests(api.origin, byKey);
      await sleep(SETTLE_MS);
      const wallets = await sendRequests(api.origin, await signRequests(signers, api.origin, requests));
      await sleep(SETTLE_MS);
      failed += keys.failed + wallets.failed;
      // The first round is the warm-up.
      if (round === 0) continue;
      figures.keys.push(keys.perSecond);
      figures.wallets.push(wallets.perSecond);
    }
    return { ok: reportFigures(figures, failed) };
  } finally {
    await world.close();
  }
}

function accountOf({ address }: PrivateKeyAccount): string {
  const wallet = toWallet(address);
  if (!wallet) throw new Error(`${address} is no wallet`);
  return walletAccountId(wallet);
}

async function fillWallets({ environment }: World, signers: readonly PrivateKeyAccount[]): Promise<void> {
  const pool = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'bench', max: 1 });
  for (const { address } of signers) {
    const wallet = toWallet(address);
    if (!wallet) continue;
    const accountId = await inTransaction(pool, (client) => openWalletAccount(client, wallet));
    const credit = { operationId: `bench ${address}`, accountId, amount: 10n ** 15n, notes: 'bench' };
    await topUp(pool, { ...credit, currency: 'usd' });
  }
  await pool.end();
}

async function openApi(world: World, accountIds: readonly string[]) {
  const upstream = await world.startFloor('chatUpstream');
  const api = await startChatApi(world, upstream.origin, accountIds);
  await pinToOneCore(world, [api]);
  return api;
}

type Headers = Readonly<Record<string, string>>;

/** Signs before the measurement, because the load shares its core. Neighbours in the list have different wallets. */
async function signRequests(signers: readonly PrivateKeyAccount[], origin: string, count: number): Promise<Headers[]> {
  const info = {
    ...{ domain: new URL(origin).host, uri: origin, version: '1', statement: 'Sign in' },
    ...{ chainId: BASE_MAINNET, type: 'eip191' as const, issuedAt: new Date().toISOString() },
  };
  const signed: Headers[] = [];
  for (let made = 0; made < count; made += 1) {
    const signer = signers[made % signers.length] as PrivateKeyAccount;
    const nonce = randomBytes(16).toString('hex');
    const payload = await createSIWxPayload({ ...info, nonce }, signer, origin);
    signed.push({ 'sign-in-with-x': encodeSIWxHeader(payload) });
  }
  return signed;
}

/** Sends every request once over all connections. Each connection has one wallet. */
async function sendRequests(
  origin: string,
  headers: readonly Headers[],
): Promise<{ perSecond: number; failed: number }> {
  let failed = 0;
  const requests = headers.map((own): LeanRequest => {
    const url = `${origin}/api/v1/chat/completions`;
    return { method: 'POST', url, headers: { 'content-type': 'application/json', ...own }, body: BODY };
  });
  const startedAt = performance.now();
  const connection = async (_unused: unknown, first: number) => {
    const client = await openLeanClient(requests[first] as LeanRequest);
    for (let index = first; index < requests.length; index += LOAD_CONNECTIONS) {
      if ((await client.send(requests[index])) !== 200) failed += 1;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: LOAD_CONNECTIONS }, connection));
  return { perSecond: (requests.length * 1_000) / (performance.now() - startedAt), failed };
}

function reportFigures({ keys, wallets }: { keys: number[]; wallets: number[] }, failed: number): boolean {
  const [byKey, byWallet] = [percentile(keys, 0.5), percentile(wallets, 0.5)];
  console.log(`wallets: chat signed anew by ${WALLETS} wallets at ${LOAD_CONNECTIONS} connections, against API keys`);
  console.table([
    { callers: 'API keys', 'req/s': Math.round(byKey) },
    { callers: 'wallets', 'req/s': Math.round(byWallet) },
  ]);
  return reachesBars([
    ['ratio', byWallet / byKey, '≥', MIN_RATIO],
    ['failed', failed, '≤', 0],
  ]);
}
