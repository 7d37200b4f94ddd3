import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnvelope } from '../../../../domain/payments/readEnvelope.ts';
import { paymentNetworkNamed } from '../../../../providers/payments/createPaymentNetworks.ts';
import { type PaymentNetwork, PaymentRefused } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startRpcNode, type TestNode } from '../../../chains/rpcNode.ts';
import { changed, flatTable, type Row, secondTable, type World } from './mutationTable.ts';
import { DOLLAR, networkOn, PAYEE, payloadOf, signedOn } from './signedPayments.ts';

const TOP_UP = 'https://api.example/api/v1/x402/top-up';
const within = AbortSignal.timeout(600_000);

let chain: EvmChain;
let node: TestNode;
let network: PaymentNetwork;
let networks: ReadonlyMap<string, PaymentNetwork>;
let world: World;
let second: Record<string, unknown>;
let flat: Record<string, unknown>;

beforeAll(async () => {
  chain = await startEvmChain();
  node = await startRpcNode(chain.rpcUrl);
  network = networkOn({ ...chain, rpcUrl: node.url });
  networks = new Map([[network.network, network]]);
  const signed = await signedOn(chain);
  const other = await signedOn(chain);
  const payload = payloadOf(signed);
  const accepted = await network.offer('10000000');
  second = { x402Version: 2, resource: { url: TOP_UP }, accepted, payload, extensions: {} };
  flat = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload };
  world = {
    nowS: BigInt(Math.floor(Date.now() / 1000)),
    ...{ payee: PAYEE, payer: signed.payer.address, other: other.payer.address, usdc: chain.usdc },
    fakeUsd: await chain.deployNamed('FakeUSD'),
    ...{ signature: signed.signature, otherSignature: other.signature },
    nonce: signed.authorization.nonce,
  };
});

afterAll(async () => {
  await network.close?.();
  await node.close();
  await chain.stop();
});

/** Runs all checks before the settlement. */
async function take(content: object): Promise<string> {
  const header = Buffer.from(JSON.stringify(content)).toString('base64');
  const reading = readEnvelope(header, [TOP_UP]);
  if (!reading.ok) return reading.refusal.code;
  const chosen = paymentNetworkNamed(networks, reading.envelope.network);
  if (chosen === undefined) return 'UNSUPPORTED_NETWORK';
  try {
    await chosen.verify(await chosen.read(reading.envelope, Date.now()), within);
  } catch (error) {
    if (error instanceof PaymentRefused) return error.code;
    throw error;
  }
  return 'taken';
}

async function mistakes(content: object, table: readonly Row[]): Promise<{ count: number; wrong: string[] }> {
  const wrong: string[] = [];
  let count = 0;
  for (const { path, code, values } of table) {
    for (const value of values) {
      count += 1;
      const said = await take(changed(content, path, value)).catch(String);
      if (said !== code) wrong.push(`${path} = ${JSON.stringify(value)}: ${said}, not ${code}`);
    }
  }
  return { count, wrong };
}

describe('a valid payment with one changed field', () => {
  test('is accepted in both shapes while unchanged', async () => {
    expect(await take(second)).toBe('taken');
    expect(await take(flat)).toBe('taken');
    expect(await take({ ...flat, x402Version: 2, network: 'eip155:84532' })).toBe('taken');
  });

  test('is refused with its code in version 2', async () => {
    const { count, wrong } = await mistakes(second, secondTable(world));
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(250);
  });

  test('is refused with its code in the flat shape', async () => {
    const { count, wrong } = await mistakes(flat, flatTable(world));
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(150);
  });

  test('is never submitted to the chain', async () => {
    expect(node.calls.get('eth_sendRawTransaction') ?? 0).toBe(0);
    expect(node.calls.get('eth_estimateGas') ?? 0).toBe(0);
    expect(await chain.balanceOf(PAYEE)).toBe(0n);
  });
});

describe('permitted differences', () => {
  const lower = (text: string) => text.toLowerCase();
  const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
  const odd = (text: string) =>
    `0x${[...text.slice(2)].map((sign, place) => (place % 2 ? sign.toUpperCase() : sign.toLowerCase())).join('')}`;

  test.each([lower, upper, odd])('accept any case of the hexadecimal digits as the same payment', async (spell) => {
    const spelled = JSON.parse(
      JSON.stringify(second, (_key, value: unknown) =>
        typeof value === 'string' && /^0x[0-9a-fA-F]{20,}$/.test(value) ? spell(value) : value,
      ),
    );
    expect(await take(spelled)).toBe('taken');
    const read = async (content: object) => {
      const reading = readEnvelope(Buffer.from(JSON.stringify(content)).toString('base64'), [TOP_UP]);
      if (!reading.ok) throw new Error(reading.refusal.message);
      return network.read(reading.envelope, 1_000 * Number(world.nowS));
    };
    expect(await read(spelled)).toEqual(await read(second));
  });

  test('accept an `extra` that is missing or names the transfer method', async () => {
    expect(await take(changed(second, 'accepted.extra', undefined))).toBe('taken');
    const extra = { name: 'USD Coin', version: '2', assetTransferMethod: 'eip3009' };
    expect(await take(changed(second, 'accepted.extra', extra))).toBe('taken');
  });

  test('accept unknown fields without an effect', async () => {
    expect(await take(changed(second, 'payload.authorization.note', 'thanks'))).toBe('taken');
    expect(await take(changed(second, 'payload.note', { a: 1 }))).toBe('taken');
  });
});

describe('the window of a payment', () => {
  const CASES: [string, { validAfter?: bigint; validBefore?: bigint }, boolean][] = [
    ['begins in this second', { validAfter: 0n }, true],
    ['begins in the next second', { validAfter: 1n }, false],
    ['has half a minute left', { validBefore: 30n }, true],
    ['has a second less', { validBefore: 29n }, false],
    ['ends after an hour', { validBefore: 3_600n }, true],
    ['ends a second later', { validBefore: 3_601n }, false],
  ];

  test.each(CASES)('%s', async (_name, { validAfter, validBefore }, good) => {
    const nowS = BigInt(Math.floor(Date.now() / 1000));
    const signed = await signedOn(chain, {
      validAfter: validAfter === undefined ? 0n : nowS + validAfter,
      validBefore: nowS + (validBefore ?? 300n),
    });
    const envelope = { ...flat, x402Version: 1, payload: payloadOf(signed) } as const;
    const reading = network.read(
      { ...envelope, scheme: 'exact', network: 'base-sepolia', accepted: undefined, resourceUrl: undefined },
      Number(nowS) * 1000 + 999,
    );
    if (good) expect((await reading).payer.address).toBe(signed.payer.address.toLowerCase());
    else await expect(reading).rejects.toMatchObject({ code: 'PAYMENT_VERIFICATION_FAILED' });
  });

  test('accepts payments of the minimum and the maximum amount', async () => {
    for (const value of [5n * DOLLAR, 10_000n * DOLLAR]) {
      const payload = payloadOf(await signedOn(chain, { value }));
      expect(await take({ ...flat, payload })).toBe('taken');
      expect(await take({ ...second, payload, accepted: await network.offer(String(value)) })).toBe('taken');
    }
  });
});
