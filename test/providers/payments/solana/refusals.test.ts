import { expect, test } from 'vitest';
import { isLargeOrderPoint, isStrictEd25519 } from '../../../../domain/ed25519.ts';
import { PaymentRefused } from '../../../../providers/payments/paymentNetwork.ts';
import { isSignedBy } from '../../../../providers/payments/solana/feeKey.ts';
import { readPayment } from '../../../../providers/payments/solana/readPayment.ts';
import { ALLOWED, BENDS, CHECKED } from './bends.ts';
import { envelope, newKey, openWorld, transactionText } from './solanaWorld.ts';

const NOW_MS = Date.now();

test('refuses every violation of the exact scheme with its code, without a call to a node', async () => {
  const world = await openWorld();
  const outcomes: Record<string, string> = {};
  for (const [name, , bend] of BENDS) {
    outcomes[name] = await world.payments.read(await envelope(world, bend), NOW_MS).then(
      () => 'taken',
      (error: unknown) => (error instanceof PaymentRefused ? error.code : String(error)),
    );
  }
  expect(outcomes).toEqual(Object.fromEntries(BENDS.map(([name, code]) => [name, code])));
  expect(BENDS.length).toBeGreaterThan(100);
  expect(world.chain.submissions).toBe(0);
  expect(world.nodes[0]?.calls).toEqual([]);
});

test('accepts and settles what wallets add and what clients leave out', async () => {
  const world = await openWorld();
  const signal = new AbortController().signal;
  for (const [name, bend] of ALLOWED) {
    const payment = await world.payments.read(await envelope(world, bend), NOW_MS);
    expect(payment.payer.address, name).toBe(world.payer.address);
    await world.payments.verify(payment, signal);
    expect(await world.payments.settle(payment, signal), name).toMatchObject({ outcome: 'sent' });
  }
});

test('the checks that wallets add are taken where a facilitator pays the fee', async () => {
  const world = await openWorld();
  const feePayers = {
    offered: async () => world.feeKey.address,
    has: async (address: string) => address === world.feeKey.address,
  };
  const offer = () => Promise.reject(new Error('nothing was accepted'));
  const reader = { settings: world.settings, names: [], decimals: 6, feePayers, isOwnFee: false };
  for (const [name, bend] of CHECKED) {
    const given = { ...(await envelope(world, bend)), accepted: undefined };
    const payment = await readPayment({ ...reader, offer: offer as never }, given, NOW_MS);
    expect(payment.payer.address, name).toBe(world.payer.address);
  }
});

test('refuses an offer that is not ours with its code', async () => {
  const world = await openWorld();
  const { network, asset, payTo } = world.settings;
  const accepted = await world.payments.offer('6000000');
  const read = async (changed: Record<string, unknown>, flat: Record<string, string> = {}) => {
    const given = await envelope(world);
    return await world.payments.read({ ...given, ...flat, accepted: { ...accepted, ...changed } }, NOW_MS).then(
      () => 'taken',
      (error: PaymentRefused) => error.code,
    );
  };
  const { extra } = accepted;
  expect(await read({})).toBe('taken');
  expect(await read({ extra: undefined })).toBe('taken');
  const rows: [Record<string, unknown>, string][] = [
    [{ amount: '5999999' }, 'INVALID_AMOUNT'],
    [{ amount: 6_000_000 }, 'INVALID_AMOUNT'],
    [{ amount: '06000000' }, 'INVALID_AMOUNT'],
    [{ scheme: 'upto' }, 'UNSUPPORTED_SCHEME'],
    [{ network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' }, 'UNSUPPORTED_NETWORK'],
    [{ asset: payTo }, 'UNSUPPORTED_TOKEN'],
    [{ asset: asset.toLowerCase() }, 'UNSUPPORTED_TOKEN'],
    [{ payTo: asset }, 'INVALID_PAYMENT_RECIPIENT'],
    [{ maxTimeoutSeconds: 60 }, 'INVALID_PAYMENT'],
    [{ extra: { ...extra, feePayer: payTo } }, 'INVALID_PAYMENT'],
    [{ extra: { ...extra, memo: 'an invoice of another merchant' } }, 'INVALID_PAYMENT'],
    [{ extra: { feePayer: extra.feePayer } }, 'INVALID_PAYMENT'],
    [{ extra: 'none' }, 'INVALID_PAYMENT'],
  ];
  for (const [changed, code] of rows) expect(await read(changed), JSON.stringify(changed)).toBe(code);
  expect(await read({}, { scheme: 'upto' })).toBe('UNSUPPORTED_SCHEME');
  expect(await read({}, { network: 'base' })).toBe('UNSUPPORTED_NETWORK');
  expect(network).toBe(world.chain.network);
});

test('treats no second encoding of a payment as another payment', async () => {
  const world = await openWorld();
  const text = String(await transactionText(world));
  const nonceOf = async (transaction: string) => {
    const given = await envelope(world);
    return await world.payments.read({ ...given, payload: { transaction } }, NOW_MS).then(
      ({ nonce }) => nonce,
      () => undefined,
    );
  };
  const nonce = await nonceOf(text);
  expect(nonce).toMatch(/^[0-9a-f]{64}$/);
  const signed = Buffer.from(text, 'base64');
  const spellings = [
    text.replace(/=+$/, ''),
    `${text}\n`,
    ` ${text}`,
    text.replaceAll('+', '-').replaceAll('/', '_'),
    signed.toString('base64url'),
    Buffer.from(signed).fill(9, 1, 65).toString('base64'),
    Buffer.concat([signed, Buffer.from([0])]).toString('base64'),
  ];
  for (const spelling of spellings) expect([nonce, undefined]).toContain(await nonceOf(spelling));
});

/** Little-endian y of the points of order 1, 2, 4 and 8, and their other encodings; with either sign. */
const SMALL_ORDER_KEYS = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].flatMap((hex) => {
  const key = Buffer.from(hex, 'hex');
  const negative = Buffer.from(key);
  negative[31] = (negative[31] ?? 0) | 0x80;
  return [key, negative];
});

test('accepts no signature with a key or nonce of small order', () => {
  expect(SMALL_ORDER_KEYS).toHaveLength(16);
  const honest = newKey();
  for (const key of SMALL_ORDER_KEYS) {
    expect(isLargeOrderPoint(key), key.toString('hex')).toBe(false);
    // The equation 0·B = R + k·A holds for a neutral A and R, whatever the message is.
    const signature = Buffer.concat([key, Buffer.alloc(32)]);
    for (let count = 0; count < 8; count += 1) {
      expect(isSignedBy(key, Buffer.from(`message ${count}`), signature)).toBe(false);
    }
  }
  expect(isStrictEd25519(Buffer.alloc(31), Buffer.alloc(64))).toBe(false);
  expect(isStrictEd25519(Buffer.alloc(32, 3), Buffer.alloc(63))).toBe(false);
  expect(honest.address).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
});
