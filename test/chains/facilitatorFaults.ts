/** Lies and faults of a facilitator: its action on a payment, and its answer. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address, Hex } from 'viem';
import { type FacilitationRequest, type Facilitator, sendJson } from '../../dev/chain/facilitator.ts';
import { TEST_USD } from '../../dev/chain/testUsd.ts';
import { testContract } from './artifact.ts';
import type { EvmChain } from './evmChain.ts';

export interface FaultContext {
  chain: EvmChain;
  /** Really verifies and settles. */
  honest: Facilitator;
  request: FacilitationRequest;
  response: ServerResponse;
  /** The last settled payment of another payer. */
  otherTransaction: Hex | undefined;
  /** Delay of slow faults. */
  slowMs: number;
}

type Fault = (context: FaultContext) => Promise<void> | void;

const SOMEBODY: Address = '0x00000000000000000000000000000000DeaDBeef';
const NO_TRANSACTION: Hex = `0x${'ab'.repeat(32)}`;
const HUGE_BYTES = 10_000_000;

/** Reports success, and nothing was paid. No money may be credited after any of these. */
export const LIES = {
  'success without a transaction': ({ response, ...of }) => sendJson(response, 200, success(of, '')),
  'success with a transaction that does not exist': ({ response, ...of }) =>
    sendJson(response, 200, success(of, NO_TRANSACTION)),
  'success with what is no hash': ({ response, ...of }) => sendJson(response, 200, success(of, '0xabc; drop table')),
  "success with another payment's transaction": async ({ response, ...of }) => {
    const hash = of.otherTransaction ?? (await unrelatedTransfer(of));
    sendJson(response, 200, success(of, hash));
  },
  'success with a transfer that nobody signed': async ({ response, ...of }) =>
    sendJson(response, 200, success(of, await bankTransfer(of, recipientOf(of), amountOf(of)))),
  'success with a transfer of less': async ({ response, ...of }) =>
    sendJson(response, 200, success(of, await bankTransfer(of, recipientOf(of), amountOf(of) - 1n))),
  'success with a transfer to somebody else': async ({ response, ...of }) =>
    sendJson(response, 200, success(of, await bankTransfer(of, SOMEBODY, amountOf(of)))),
  'success with the events of a fake token': async ({ response, ...of }) =>
    sendJson(response, 200, success(of, await fakeTransfer(of))),
  'success with a transaction that was reverted': async ({ response, ...of }) =>
    sendJson(response, 200, success(of, await revertedTransfer(of))),
  'success, and the block is gone a moment later': async ({ response, ...of }) => {
    // A following block would confirm the payment before the reorganisation.
    const said = await of.chain.withoutBlockClock(async () => {
      const settled = await of.honest.settle(of.request);
      await of.chain.reorg(1);
      return settled;
    });
    sendJson(response, 200, said);
  },
  'success in words only': ({ response }) => sendJson(response, 200, { success: true }),
  'success as text': ({ response, ...of }) =>
    sendJson(response, 200, { ...success(of, NO_TRANSACTION), success: 'true' }),
  'refuses, and says a transaction all the same': ({ response, ...of }) =>
    sendJson(response, 200, {
      ...success(of, NO_TRANSACTION),
      success: false,
      errorReason: 'unexpected_settle_error',
    }),
} satisfies Record<string, Fault>;

/** Settles and answers wrongly or not at all. The payer is credited once, sooner or later. */
export const MUDDLES = {
  'settles, and says that it refused': async ({ response, ...of }) => {
    await of.honest.settle(of.request);
    sendJson(response, 200, { success: false, errorReason: 'unexpected_settle_error', transaction: '' });
  },
  'settles, and dies before it answers': async ({ response, ...of }) => {
    await of.honest.settle(of.request);
    response.destroy();
  },
  'settles, and names another network': async ({ response, ...of }) =>
    sendJson(response, 200, { ...(await of.honest.settle(of.request)), network: 'eip155:1' }),
  'settles, and names another payer': async ({ response, ...of }) =>
    sendJson(response, 200, { ...(await of.honest.settle(of.request)), payer: SOMEBODY }),
  'settles, and names a transaction that does not exist': async ({ response, ...of }) =>
    sendJson(response, 200, { ...(await of.honest.settle(of.request)), transaction: NO_TRANSACTION }),
  'settles, and answers 500': async ({ response, ...of }) => {
    await of.honest.settle(of.request);
    sendJson(response, 500, { error: 'internal' });
  },
  'settles, and answers what is no JSON': async ({ response, ...of }) => {
    await of.honest.settle(of.request);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success": tru');
  },
  'refuses, and settles a moment later': async ({ response, ...of }) => {
    sendJson(response, 200, { success: false, errorReason: 'invalid_transaction_state', transaction: '' });
    await sleep(of.slowMs);
    await of.honest.settle(of.request);
  },
  'is slow': async ({ response, ...of }) => {
    await sleep(of.slowMs);
    sendJson(response, 200, await of.honest.settle(of.request));
  },
} satisfies Record<string, Fault>;

/** Neither settles nor answers sensibly. */
export const SILENCES = {
  hangs: () => undefined,
  'dies before it settles': ({ response }) => void response.destroy(),
  'answers HTML': ({ response }) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<html><body><h1>Welcome to nginx!</h1></body></html>'),
  'answers garbage': ({ response }) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0, 255, 254, 1])),
  'answers 10 MB': ({ response }) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"success":true,"transaction":"${'a'.repeat(HUGE_BYTES)}"}`),
  'answers null': ({ response }) => void response.writeHead(200).end('null'),
  'answers 500': ({ response }) => sendJson(response, 500, { error: 'internal' }),
  'answers 429': ({ response }) => sendJson(response, 429, { error: 'slow down' }),
  'redirects to the metadata service': ({ response }) =>
    void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
} satisfies Record<string, Fault>;

/** Lacks the response, which only the tables above write. */
type Of = Omit<FaultContext, 'response'>;

function success({ request, chain }: Of, transaction: string) {
  return { success: true, transaction, network: chain.network, payer: payerOf(request) };
}

interface SignedTransfer {
  from: Address;
  to: Address;
  value: string;
  validAfter: string;
  validBefore: string;
  nonce: Hex;
}

function authorizationOf(request: FacilitationRequest): SignedTransfer {
  const { authorization } = request.paymentPayload.payload as { authorization: SignedTransfer };
  return authorization;
}

export function payerOf(request: FacilitationRequest): Address {
  return authorizationOf(request).from;
}

function recipientOf({ request }: Of): Address {
  return authorizationOf(request).to;
}

function amountOf({ request }: Of): bigint {
  return BigInt(authorizationOf(request).value);
}

/** Transfers money of the bank in the real token. */
async function bankTransfer({ chain }: Of, to: Address, value: bigint): Promise<Hex> {
  await chain.mint(chain.bank.address, value);
  const { abi } = TEST_USD;
  const call = { address: chain.usdc, abi, functionName: 'transfer', args: [to, value] };
  return (await chain.write(call)).transactionHash;
}

/** Another wallet pays the same recipient the same amount by its own authorization. */
async function unrelatedTransfer(of: Of): Promise<Hex> {
  const other = await of.chain.newWallet(amountOf(of));
  const authorization = await of.chain.authorization({
    from: other.address,
    to: recipientOf(of),
    value: amountOf(of),
  });
  const receipt = await of.chain.settle(authorization, await of.chain.sign(other, authorization));
  return receipt.transactionHash;
}

async function fakeTransfer({ chain, request }: Of): Promise<Hex> {
  const a = authorizationOf(request);
  const address = await chain.deployNamed('FakeUSD');
  const args = [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, '0x'];
  const { abi } = testContract('FakeUSD');
  return (await chain.write({ address, abi, functionName: 'transferWithAuthorization', args })).transactionHash;
}

/** Submits the transfer with a signature that is not the payer's. */
async function revertedTransfer({ chain, request }: Of): Promise<Hex> {
  const a = authorizationOf(request);
  const { transactionHash } = await chain.writeInVain({
    address: chain.usdc,
    abi: TEST_USD.abi,
    functionName: 'transferWithAuthorization',
    args: [a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, `0x${'11'.repeat(64)}1b`],
  });
  return transactionHash;
}
