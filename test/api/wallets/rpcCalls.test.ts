/** A wallet calls blockchain nodes like a key: charged per call, limited separately, with its balance shown. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatNano } from '../../../domain/money.ts';
import { together } from '../../harness/together.ts';
import { booked, call, post, type RpcReply, type RpcWorld, startRpcWorld } from '../rpc/rpcWorld.ts';
import { newWallet, type TestWallet, welcomeWallets } from './walletWorld.ts';

const TEN_USD = 10_000_000_000n;
/** 20 credits of 700 nano USD. */
const CALL = 14_000n;

let world: RpcWorld;
beforeAll(async () => {
  world = await startRpcWorld({ limits: 'published' });
  welcomeWallets(world.api);
});
afterAll(() => world.close());

async function callAs(wallet: TestWallet, body = call('eth_chainId')): Promise<RpcReply> {
  const payer = { key: '', keyId: '', accountId: wallet.accountId };
  return await post(world, payer, { body, headers: { 'sign-in-with-x': await wallet.header() } });
}

const left = ({ headers }: RpcReply) => headers.get('x-balance-remaining');

it('charges calls and batches to its account, and shows the balance', async () => {
  const wallet = await newWallet(world.api, TEN_USD);
  const one = await callAs(wallet);
  expect([one.status, left(one)]).toEqual([200, formatNano(TEN_USD - CALL)]);
  const batch = await callAs(wallet, `[${Array.from({ length: 10 }, () => call('eth_chainId')).join(',')}]`);
  expect([batch.status, left(batch)]).toEqual([200, formatNano(TEN_USD - 11n * CALL)]);
  const history = await booked(world, { key: '', keyId: '', accountId: wallet.accountId });
  const charged = history.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  expect(charged).toBe(11n * CALL);
});

it('limits each wallet separately, and shows the balance beside the limits', async () => {
  const [wallet, other] = [await newWallet(world.api, TEN_USD), await newWallet(world.api, TEN_USD)];
  const served = await together(
    Array.from({ length: 100 }, () => () => callAs(wallet)),
    4,
  );
  expect(served.filter(({ status }) => status === 200)).toHaveLength(100);
  const refused = await callAs(wallet);
  expect([refused.status, left(refused)]).toEqual([429, formatNano(TEN_USD - 100n * CALL)]);
  expect(refused.headers.get('x-ratelimit-limit')).toBe('100');
  expect((await callAs(other)).status).toBe(200);
});

it('sends payment offers to a wallet without funds, without a node request', async () => {
  const poor = await newWallet(world.api);
  const before = world.node.requests;
  const reply = await callAs(poor);
  expect([reply.status, left(reply)]).toEqual([402, '0']);
  expect(JSON.parse(reply.text)).toMatchObject({ code: 'PAYMENT_REQUIRED', minimumTopUpUsd: 5 });
  expect(world.node.requests).toBe(before);
});
