import { sign } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { ChainUnavailable } from '../../../../providers/payments/paymentNetwork.ts';
import { createSolanaPayments } from '../../../../providers/payments/solana/createSolanaPayments.ts';
import { readSubmission } from '../../../chains/solana/solanaChain.ts';
import {
  type SettleRequest,
  type SolanaFacilitator,
  sendJson,
  startSolanaFacilitator,
} from '../../../chains/solana/solanaFacilitator.ts';
import { envelope, newKey, openWorld, SIX_DOLLARS, transferOf, type World } from './solanaWorld.ts';

const signal = new AbortController().signal;

/** Uses the world's own fee key as the facilitator's. */
async function facilitated(): Promise<World & { facilitator: SolanaFacilitator }> {
  const world = await openWorld();
  const { chain, feeKey } = world;
  const facilitator = await startSolanaFacilitator(chain, {
    address: feeKey.address,
    sign: (message) => new Uint8Array(sign(null, message, feeKey.privateKey)),
  });
  const settings = { ...world.settings, facilitatorUrl: facilitator.url, feePayerKeyEnv: undefined };
  const payments = createSolanaPayments(settings, { secret: () => undefined, callTimeoutMs: 3_000 });
  onTestFinished(async () => {
    await payments.close?.();
    await facilitator.close();
  });
  return { ...world, settings, payments, facilitator };
}

type Fault = (
  world: World & { facilitator: SolanaFacilitator },
) => (request: SettleRequest, response: ServerResponse) => void | Promise<void>;

const NOTHING = '1'.repeat(64);

/** Transfers the same amount from the same payer to the same account in another transaction. */
async function otherTransfer(world: World): Promise<string> {
  const given = await envelope(world);
  const text = String(given.payload.transaction);
  const wire = Buffer.from(text, 'base64');
  sign(null, wire.subarray(129), world.feeKey.privateKey).copy(wire, 1);
  const submission = readSubmission(new Uint8Array(wire));
  world.chain.execute(submission);
  return submission.signature;
}

const LIES: Readonly<Record<string, Fault>> = {
  'success without a transaction': () => (_, response) => sendJson(response, 200, { success: true }),
  'success with a transaction that is none': () => (_, response) =>
    sendJson(response, 200, { success: true, transaction: NOTHING }),
  'success with what is no name': () => (_, response) =>
    sendJson(response, 200, { success: true, transaction: '0x; drop table' }),
  'success with another transfer of the same wallet': (world) => async (_, response) =>
    sendJson(response, 200, { success: true, transaction: await otherTransfer(world) }),
  'success in a text': () => (_, response) => sendJson(response, 200, { success: 'true', transaction: NOTHING }),
  'a list': () => (_, response) => sendJson(response, 200, [true]),
  null: () => (_, response) => sendJson(response, 200, null),
  HTML: () => (_, response) => void response.writeHead(200).end('<html><h1>It works!</h1>'),
  'a redirect': () => (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  'ten megabytes': () => (_, response) => void response.writeHead(200).end('a'.repeat(10_000_000)),
  'dies before it settles': () => (_, response) => void response.destroy(),
  'answers 500': () => (_, response) => sendJson(response, 500, {}),
  'handed in, and lost by the network': (world) => (request, response) => {
    world.chain.onSubmit = 'drop';
    sendJson(response, 200, { success: true, transaction: world.facilitator.settle(request) });
  },
};

test('finds nothing of an unsettled payment, whatever the facilitator answers', async () => {
  for (const [name, fault] of Object.entries(LIES)) {
    const world = await facilitated();
    const { chain, payments, facilitator } = world;
    const payment = await payments.read(await envelope(world), Date.now());
    facilitator.instead = fault(world);
    const settled = await payments.settle(payment, signal);
    expect(settled.outcome, name).not.toBe('refused');
    const named = 'transaction' in settled ? settled.transaction : undefined;
    expect(await payments.find(payment, signal, named), name).toEqual({ state: 'absent', gone: false });
    chain.advance(400);
    expect(await payments.find(payment, signal, named), name).toEqual({ state: 'absent', gone: true });
    expect(facilitator.settles, name).toHaveLength(1);
  }
});

const MUDDLES: Readonly<Record<string, Fault>> = {
  honest: (world) => (request, response) =>
    sendJson(response, 200, { success: true, transaction: world.facilitator.settle(request) }),
  'says that it refused': (world) => (request, response) => {
    world.facilitator.settle(request);
    sendJson(response, 200, { success: false, errorReason: 'transaction_failed', transaction: '' });
  },
  'dies before it answers': (world) => (request, response) => {
    world.facilitator.settle(request);
    response.destroy();
  },
  'names another transaction': (world) => (request, response) => {
    world.facilitator.settle(request);
    sendJson(response, 200, { success: true, transaction: NOTHING });
  },
  'answers what is no JSON': (world) => (request, response) => {
    world.facilitator.settle(request);
    response.writeHead(200).end('{"success": tru');
  },
};

test('finds a settled payment, whatever the facilitator answers', async () => {
  for (const [name, fault] of Object.entries(MUDDLES)) {
    const world = await facilitated();
    const { chain, payments, facilitator, usd, payTo } = world;
    const payment = await payments.read(await envelope(world), Date.now());
    facilitator.instead = fault(world);
    const settled = await payments.settle(payment, signal);
    expect(settled.outcome, name).toBe(name === 'honest' || name.startsWith('names') ? 'sent' : 'unknown');
    const named = 'transaction' in settled ? settled.transaction : undefined;
    expect(await payments.find(payment, signal, named), name).toMatchObject({ state: 'pending' });
    chain.advance(32);
    const found = await payments.find(payment, signal, named);
    expect(found, name).toMatchObject({ state: 'final', amount: '6000000' });
    expect(await payments.find(payment, signal), name).toEqual(found);
    expect(await usd.balanceOf(payTo), name).toBe(SIX_DOLLARS + 1n);
  }
});

test('sends the facilitator the rebuilt payment and our own terms', async () => {
  const world = await facilitated();
  const { payments, facilitator, settings, feeKey } = world;
  const given = await envelope(world);
  const payment = await payments.read({ ...given, payload: { ...given.payload, more: 1 } }, Date.now());
  await payments.settle(payment, signal);
  const terms = await payments.offer('6000000');
  expect(terms.extra.feePayer).toBe(feeKey.address);
  expect(facilitator.settles).toEqual([
    {
      x402Version: 2,
      paymentPayload: {
        x402Version: 2,
        accepted: terms,
        payload: { transaction: given.payload.transaction },
      },
      paymentRequirements: terms,
    },
  ]);
  expect(terms.network).toBe(settings.network);
});

test('reports a payment as refused when the facilitator refuses it before signing', async () => {
  const world = await facilitated();
  const payment = await world.payments.read(await envelope(world), Date.now());
  const errorReason = 'invalid_exact_svm_payload_amount_mismatch';
  world.facilitator.instead = (_, response) => sendJson(response, 200, { success: false, errorReason });
  expect(await world.payments.settle(payment, signal)).toEqual({ outcome: 'refused', reason: errorReason });
  await world.facilitator.close();
  expect(await world.payments.settle(payment, signal)).toMatchObject({ outcome: 'refused' });
});

test('offers nothing and reads no payment when the facilitator names no fee payers', async () => {
  for (const supported of [undefined, null, {}, { kinds: [] }, { kinds: [{ scheme: 'exact', network: 'solana' }] }]) {
    const world = await facilitated();
    world.facilitator.supported = supported;
    await expect(world.payments.offer('5000000')).rejects.toThrow(ChainUnavailable);
    await expect(world.payments.read(await envelope(world), Date.now())).rejects.toThrow(ChainUnavailable);
  }
});

test('accepts every fee payer of the facilitator, and no other', async () => {
  const world = await facilitated();
  const { payments, facilitator, feeKey, chain } = world;
  const second = newKey();
  facilitator.supported = {
    kinds: [{ scheme: 'exact', network: chain.network, extra: { feePayer: second.address } }],
    signers: { 'solana:*': [feeKey.address, second.address] },
  };
  expect((await payments.offer('5000000')).extra.feePayer).toBe(second.address);
  await payments.read(await envelope(world), Date.now());
  const bySecond = { draft: <D extends object>(draft: D) => ({ ...draft, feePayer: second.address }) };
  await payments.read(await envelope(world, bySecond), Date.now());
  const byNobody = { draft: <D extends object>(draft: D) => ({ ...draft, feePayer: newKey().address }) };
  await expect(payments.read(await envelope(world, byNobody), Date.now())).rejects.toMatchObject({
    code: 'INVALID_PAYMENT',
  });
});

test('finds the payment of a wallet with many other transactions', async () => {
  const world = await facilitated();
  const { chain, payments, facilitator } = world;
  const payment = await payments.read(await envelope(world), Date.now());
  facilitator.instead = (request, response) => {
    facilitator.settle(request);
    response.destroy();
  };
  await payments.settle(payment, signal);
  for (let count = 0; count < 130; count += 1) {
    const draft = await envelope(world, {
      draft: (bare) => ({
        ...bare,
        instructions: bare.instructions.with(2, transferOf(world, { amount: 1n })),
      }),
    });
    const wire = Buffer.from(String(draft.payload.transaction), 'base64');
    sign(null, wire.subarray(129), world.feeKey.privateKey).copy(wire, 1);
    chain.execute(readSubmission(new Uint8Array(wire)));
  }
  expect(chain.histories.get(world.source)?.length).toBeGreaterThan(130);
  expect(await payments.find(payment, signal)).toMatchObject({ state: 'final' });
});
