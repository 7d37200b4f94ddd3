import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Address, concatHex, encodeAbiParameters, encodeFunctionData, type Hex, toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SignIn } from '../../../../api/auth/signIn/signIn.ts';
import type { EthCall } from '../../../../api/auth/signIn/smartWallets.ts';
import type { PaymentNetworkSettings } from '../../../../infra/config/x402.ts';
import { testContract } from '../../../chains/artifact.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { BASE, encode, newEvmWallet, newNonce, type Sent, textOf } from '../../../harness/signIns.ts';
import { codeOf, createSignInWorld, FROM, SETTINGS, type SignInWorld } from './signInWorld.ts';

const MAGIC_6492 = `0x${'6492'.repeat(16)}` as const;
const NODE: PaymentNetworkSettings = {
  ...{
    network: BASE,
    family: 'evm',
    asset: `0x${'00'.repeat(20)}`,
    assetName: 'USD Coin',
    assetVersion: '2',
  },
  ...{ payTo: `0x${'00'.repeat(20)}`, rpcUrls: ['http://127.0.0.1:1/'], confirmations: 1 },
  ...{ facilitatorUrl: undefined, feePayerKeyEnv: undefined, feeBudgetPerDay: 1, allowPrivateNetwork: true },
};
const WITH_NODE = { ...SETTINGS, networks: [NODE] };

/** Returns an `ethCall` over this node, and a record of its calls. */
function askNode(url: () => string) {
  const asked: { to?: Hex; gas: bigint }[] = [];
  const ethCall: EthCall = async (network, { gas, ...call }, signal) => {
    expect(network).toBe(BASE);
    asked.push({ ...call, gas });
    const response = await fetch(url(), {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'eth_call' },
        params: [{ ...call, gas: toHex(gas) }, 'latest'],
      }),
    });
    const answer = (await response.json()) as { result?: string };
    return answer.result === undefined ? { ok: false } : { ok: true, data: answer.result };
  };
  return { ethCall, asked };
}

/** Makes a sign-in of the contract at this address with any bytes as its signature. */
async function signInAs(address: string, sign: (text: string) => Promise<Hex> | Hex): Promise<Sent> {
  const message = textOf('evm text', address, { nonce: newNonce(), nowMs: Date.now() });
  return { address, message, signature: await sign(message), chainId: BASE };
}

function by(owner: PrivateKeyAccount) {
  return (message: string) => owner.signMessage({ message });
}

let world: SignInWorld;
beforeAll(async () => {
  world = await createSignInWorld();
});
afterAll(() => world.close());

describe('wallets that are contracts', () => {
  let chain: EvmChain;
  let signIn: SignIn;
  const { ethCall, asked } = askNode(() => chain.rpcUrl);
  const owner = newEvmWallet();

  beforeAll(async () => {
    chain = await startEvmChain({ chainId: 8453 });
    signIn = world.open({ settings: WITH_NODE, ethCall });
  });
  afterAll(() => chain.stop());

  test('sign in when deployed by their owner, once, and as nobody else (EIP-1271)', async () => {
    const address = await chain.deployNamed('SmartWallet', [owner.address]);
    const sent = await signInAs(address, by(owner));
    const wallet = await signIn.verify(encode(sent), FROM);
    // On another chain the address may have another owner.
    expect(wallet).toEqual({ family: 'evm', address: address.toLowerCase(), chain: BASE });
    expect(await codeOf(signIn, sent)).toBe('NONCE_REUSED');
    expect(await codeOf(signIn, await signInAs(address, by(newEvmWallet())))).toBe('INVALID_SIGNATURE');
    const other = await chain.deployNamed('SmartWallet', [newEvmWallet().address]);
    expect(await codeOf(signIn, { ...(await signInAs(other, by(owner))) })).toBe('INVALID_SIGNATURE');
  });

  test('sign in before deployment by their factory call (EIP-6492), and stay undeployed', async () => {
    const { address, wrap } = await undeployed(chain, owner);
    const sent = await signInAs(address, async (message) => wrap(await owner.signMessage({ message })));
    expect(await codeOf(signIn, sent)).toBeUndefined();
    expect(await chain.client.getCode({ address })).toBeUndefined();
    const foreign = await signInAs(address, async (message) => wrap(await newEvmWallet().signMessage({ message })));
    expect(await codeOf(signIn, foreign)).toBe('INVALID_SIGNATURE');
    const bare = await signInAs(address, by(owner));
    expect(await codeOf(signIn, bare)).toBe('INVALID_SIGNATURE');
  });

  test('may still wrap signatures after deployment, and are asked again each time', async () => {
    const { address, wrap, make } = await undeployed(chain, owner);
    await make();
    const wrapped = await signInAs(address, async (message) => wrap(await owner.signMessage({ message })));
    expect(await codeOf(signIn, wrapped)).toBeUndefined();
    expect(await codeOf(signIn, await signInAs(address, by(owner)))).toBeUndefined();
    const fickle = await chain.deployNamed('FickleWallet');
    expect(await codeOf(signIn, await signInAs(fickle, () => '0x00'))).toBeUndefined();
    const { abi } = testContract('FickleWallet');
    await chain.write({ address: fickle, abi, functionName: 'setAgrees', args: [false] });
    expect(await codeOf(signIn, await signInAs(fickle, () => '0x00'))).toBe('INVALID_SIGNATURE');
  });

  test('cannot sign for another address by a wrapped signature', async () => {
    const { wrap } = await undeployed(chain, owner);
    const victim = newEvmWallet();
    const sent = await signInAs(victim.address, async (message) => wrap(await owner.signMessage({ message })));
    expect(await codeOf(signIn, sent)).toBe('INVALID_SIGNATURE');
  });

  test.each(['RevertingWallet', 'EndlessWallet', 'VerboseWallet'])('that are a %s do not sign in', async (name) => {
    const address = await chain.deployNamed(name);
    expect(await codeOf(signIn, await signInAs(address, by(owner)))).toBe('INVALID_SIGNATURE');
  });

  test('that accept every signature use each nonce once all the same', async () => {
    const address = await chain.deployNamed('YesWallet');
    const sent = await signInAs(address, () => '0x00');
    expect(await codeOf(signIn, sent)).toBeUndefined();
    expect(await codeOf(signIn, { ...sent, signature: '0x01' })).toBe('NONCE_REUSED');
  });

  test('are no precompiles of nodes, although one of them echoes the magic value', async () => {
    for (const low of [1, 2, 3, 4, 9, 10, 0x100]) {
      const address = `0x${low.toString(16).padStart(40, '0')}`;
      expect(await codeOf(signIn, await signInAs(address, () => '0x00'))).toBe('INVALID_WALLET');
    }
  });

  test("need no chain query for the key of an address, nor for a signature declared as a key's", async () => {
    asked.length = 0;
    expect(await codeOf(signIn, await signInAs(owner.address, by(owner)))).toBeUndefined();
    const sent = await signInAs(owner.address, by(newEvmWallet()));
    expect(await codeOf(signIn, { ...sent, signatureScheme: 'eip191' })).toBe('INVALID_SIGNATURE');
    expect(asked).toEqual([]);
    expect(await codeOf(signIn, sent)).toBe('INVALID_SIGNATURE');
    expect(asked).toMatchObject([{ to: owner.address.toLowerCase(), gas: 2_000_000n }]);
  });

  test('need no chain query to refuse other spellings of a key signature', async () => {
    asked.length = 0;
    const sent = await signInAs(owner.address, by(owner));
    const v = String(sent.signature).endsWith('1b') ? '00' : '01';
    expect(await codeOf(signIn, { ...sent, signature: String(sent.signature).slice(0, -2) + v })).toBe(
      'INVALID_SIGNATURE',
    );
    expect(asked).toEqual([]);
  });
});

describe('a faulty node', () => {
  let server: Server;
  let signIn: SignIn;
  let answer: (body: string) => string | undefined = () => undefined;
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { ethCall } = askNode(url);
  const contract = `0x${randomBytes(20).toString('hex')}`;
  const sent = () => signInAs(contract, () => `0x${'ab'.repeat(100)}`);
  const result = (data: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: data });

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        const body = answer('');
        if (body !== undefined) response.end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    signIn = world.open({ settings: WITH_NODE, ethCall });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test('that is silent gives 503 after two seconds, and never "valid"', async () => {
    const startMs = performance.now();
    await expect(codeOf(signIn, await sent())).rejects.toMatchObject({ code: 'unavailable' });
    expect(performance.now() - startMs).toBeGreaterThan(1_900);
  });

  test('that has too many calls gets no more', async () => {
    const many = await Promise.all(Array.from({ length: 40 }, sent));
    const waits = many.map((one) =>
      codeOf(signIn, one).then(
        () => 'answered',
        (error: { code: string; internal: string }) => `${error.code}: ${error.internal}`,
      ),
    );
    const outcomes = await Promise.all(waits);
    expect(outcomes.filter((one) => one.includes('too many'))).toHaveLength(24);
    expect(outcomes.filter((one) => one.includes('does not answer'))).toHaveLength(16);
  });

  test.each([
    ['nothing', '0x'],
    ['the magic value alone', '0x1626ba7e'],
    ['the magic value with something behind it', `0x1626ba7e${'0'.repeat(55)}1`],
    ['the magic value and 100 kB', `0x1626ba7e${'0'.repeat(200_000)}`],
    ['another value', `0xffffffff${'0'.repeat(56)}`],
    ['true', `0x${'0'.repeat(63)}1`],
    ['what the other question is answered with', '0x01'],
  ])('that answers with %s signs nobody in', async (_, data) => {
    answer = () => result(data);
    expect(await codeOf(signIn, await sent())).toBe('INVALID_SIGNATURE');
  });

  test('without JSON or without a listener gives 503', async () => {
    answer = () => 'busy';
    await expect(codeOf(signIn, await sent())).rejects.toMatchObject({ code: 'unavailable' });
    const nobody = world.open({
      settings: WITH_NODE,
      ethCall: askNode(() => 'http://127.0.0.1:1/').ethCall,
    });
    await expect(codeOf(nobody, await sent())).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('that is not configured is named in the refusal', async () => {
    const alone = world.open();
    const error = await alone.verify(encode(await sent()), FROM).then(
      () => undefined,
      (refused: Error) => refused,
    );
    expect(error).toMatchObject({ code: 'X402_SIGN_IN_INVALID_WALLET' });
    expect(error?.message).toContain('no node of eip155:8453 is configured');
    const declared = { ...(await signInAs(contract, by(newEvmWallet()))), type: 'eip1271' };
    expect(await codeOf(alone, declared)).toBe('INVALID_WALLET');
  });
});

async function undeployed(chain: EvmChain, owner: PrivateKeyAccount) {
  const factory = await chain.deployNamed('SmartWalletFactory');
  const { abi } = testContract('SmartWalletFactory');
  const args = [owner.address, toHex(randomBytes(32))] as const;
  const address = (await chain.client.readContract({
    address: factory,
    abi,
    functionName: 'addressOf',
    args,
  })) as Address;
  const data = encodeFunctionData({ abi, functionName: 'make', args });
  const shape = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const;
  const wrap = (signature: Hex) => concatHex([encodeAbiParameters(shape, [factory, data, signature]), MAGIC_6492]);
  const make = () => chain.write({ address: factory, abi, functionName: 'make', args });
  return { address, wrap, make };
}
