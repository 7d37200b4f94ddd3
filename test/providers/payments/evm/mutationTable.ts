/** Single-field changes of a valid payment, each with the code of its refusal. */
import type { PaymentRefusalCode } from '../../../../domain/payments/envelope.ts';

export interface World {
  nowS: bigint;
  payee: string;
  payer: string;
  other: string;
  usdc: string;
  fakeUsd: string;
  signature: string;
  otherSignature: string;
  nonce: string;
}

/** `path` names the field; `undefined` among `values` removes it. */
export interface Row {
  path: string;
  code: PaymentRefusalCode;
  values: readonly unknown[];
}

const HUGE = String(2n ** 256n - 1n);
const ZERO = `0x${'0'.repeat(40)}`;
/** Invalid values of a whole number. */
const NO_NUMBERS = ['', '-1', '+1', '1e3', '0x10', '01', '1.0', ' 1', '1 ', 'now', null, undefined, 5, true, ['1'], {}];
const NO_TEXTS = [null, undefined, 5, false, ['exact'], {}];
const NO_OBJECTS = [null, 'x', 5, true, []];
/** Values other than ten dollars in the smallest unit. */
const OTHER_AMOUNTS = [
  '9999999',
  '10000001',
  '5000000',
  '1e7',
  '-10000000',
  '+10000000',
  '010000000',
  '10000000.0',
  ' 10000000',
  '0x989680',
  HUGE,
  '',
  10_000_000,
  null,
  undefined,
];
const OTHER_NETWORKS = [
  'eip155:8453',
  'eip155:1',
  'eip155:084532',
  'EIP155:84532',
  'eip155:84532 ',
  'base',
  'solana',
  '',
  '__proto__',
];
const NO_HEX = ['', '0x', 'zz', '0xzz', null, undefined, 5, {}, ['0x12']];

/** Version 2 of the payload. */
export function secondTable(world: World): Row[] {
  return [...envelopeRows(), ...acceptedRows(world), ...authorizationRows(world), ...signatureRows(world)];
}

/** The flat payload, whose only amount is the one that the payer signed. */
export function flatTable(world: World): Row[] {
  return [
    {
      path: 'x402Version',
      code: 'INVALID_PAYMENT_FORMAT',
      values: [0, 3, '1', null, undefined, 1.5, -1, true],
    },
    { path: 'scheme', code: 'INVALID_PAYMENT_FORMAT', values: NO_TEXTS },
    { path: 'scheme', code: 'UNSUPPORTED_SCHEME', values: ['upto', 'EXACT', 'exact ', '', 'deferred'] },
    { path: 'network', code: 'INVALID_PAYMENT_FORMAT', values: NO_TEXTS },
    {
      path: 'network',
      code: 'UNSUPPORTED_NETWORK',
      values: ['base', 'Base-Sepolia', 'eip155:8453', 'solana', '84532'],
    },
    { path: 'accepted', code: 'INVALID_PAYMENT_FORMAT', values: [null, {}, [], 'exact', 1] },
    { path: 'resource', code: 'INVALID_PAYMENT_FORMAT', values: [null, {}, 'x'] },
    { path: 'extensions', code: 'INVALID_PAYMENT_FORMAT', values: [null, {}, []] },
    { path: 'payload', code: 'INVALID_PAYMENT_FORMAT', values: [...NO_OBJECTS, undefined] },
    { path: 'payload.authorization.value', code: 'AMOUNT_TOO_LOW', values: ['0', '1', '4999999'] },
    {
      path: 'payload.authorization.value',
      code: 'AMOUNT_TOO_HIGH',
      values: ['10000000001', HUGE, '9'.repeat(78)],
    },
    // Differs from the signed value.
    {
      path: 'payload.authorization.value',
      code: 'PAYMENT_VERIFICATION_FAILED',
      values: ['5000000', '10000001'],
    },
    ...authorizationRows(world),
    ...signatureRows(world),
  ];
}

function envelopeRows(): Row[] {
  return [
    {
      path: 'x402Version',
      code: 'INVALID_PAYMENT_FORMAT',
      values: [0, 1, 3, '2', null, undefined, 2.5, -2, true],
    },
    { path: 'accepted', code: 'INVALID_PAYMENT_FORMAT', values: [...NO_OBJECTS, undefined] },
    { path: 'scheme', code: 'INVALID_PAYMENT_FORMAT', values: ['exact', null] },
    { path: 'network', code: 'INVALID_PAYMENT_FORMAT', values: ['base', null] },
    { path: 'resource', code: 'INVALID_PAYMENT_FORMAT', values: [...NO_OBJECTS, {}, { url: 5 }] },
    {
      path: 'resource.url',
      code: 'INVALID_PAYMENT',
      values: ['', 'https://shop.example/buy', 'https://api.example/api/v1/chat/completions'],
    },
    { path: 'extensions', code: 'INVALID_PAYMENT_FORMAT', values: NO_OBJECTS },
    { path: 'payload', code: 'INVALID_PAYMENT_FORMAT', values: [...NO_OBJECTS, undefined] },
    { path: 'payload', code: 'INVALID_PAYMENT', values: [{}, { transaction: 'AQAB' }] },
  ];
}

function acceptedRows({ payer, other, fakeUsd, usdc }: World): Row[] {
  const extra = { name: 'USD Coin', version: '2' };
  return [
    { path: 'accepted.scheme', code: 'INVALID_PAYMENT_FORMAT', values: NO_TEXTS },
    { path: 'accepted.scheme', code: 'UNSUPPORTED_SCHEME', values: ['upto', 'EXACT', 'exact ', ''] },
    { path: 'accepted.network', code: 'INVALID_PAYMENT_FORMAT', values: NO_TEXTS },
    {
      path: 'accepted.network',
      code: 'UNSUPPORTED_NETWORK',
      values: OTHER_NETWORKS,
    },
    {
      path: 'accepted.asset',
      code: 'UNSUPPORTED_TOKEN',
      values: [fakeUsd, ZERO, payer, usdc.slice(2), usdc.slice(0, -1), `${usdc} `, '', null, undefined, 5, [usdc]],
    },
    {
      path: 'accepted.payTo',
      code: 'INVALID_PAYMENT_RECIPIENT',
      values: [other, payer, usdc, ZERO, '', null, undefined, 5],
    },
    {
      path: 'accepted.amount',
      code: 'INVALID_AMOUNT',
      values: OTHER_AMOUNTS,
    },
    {
      path: 'accepted.maxTimeoutSeconds',
      code: 'INVALID_PAYMENT',
      values: [299, 301, 0, -300, 1e9, '300', null, undefined],
    },
    {
      path: 'accepted.extra',
      code: 'INVALID_PAYMENT',
      values: [
        ...NO_OBJECTS,
        {},
        { name: 'USD Coin' },
        { ...extra, name: 'USDC' },
        { ...extra, version: '1' },
        { ...extra, version: 2 },
        { ...extra, feePayer: payer },
        { ...extra, assetTransferMethod: 'permit2' },
        { ...extra, assetTransferMethod: null },
      ],
    },
  ];
}

function authorizationRows(world: World): Row[] {
  const { payee, other, usdc, payer, nonce } = world;
  return [
    { path: 'payload.authorization', code: 'INVALID_PAYMENT', values: [...NO_OBJECTS, undefined] },
    {
      path: field('from'),
      code: 'INVALID_PAYMENT_PAYER',
      values: [...NO_HEX, payer.slice(0, -1), `${payer}0`, payer.replace('0x', '0X'), payee, usdc, ZERO],
    },
    { path: field('from'), code: 'PAYMENT_VERIFICATION_FAILED', values: [other] },
    {
      path: field('to'),
      code: 'INVALID_PAYMENT_RECIPIENT',
      values: [...NO_HEX, other, payer, usdc, ZERO, payee.slice(0, -1), payee.replace('0x', '0X')],
    },
    {
      path: field('value'),
      code: 'INVALID_AMOUNT',
      values: [...NO_NUMBERS, '1e7', '-10000000', '010000000', '9'.repeat(79), 10_000_000],
    },
    { path: field('validAfter'), code: 'INVALID_PAYMENT', values: [...NO_NUMBERS, '9'.repeat(79)] },
    ...windowRows(world),
    {
      path: field('nonce'),
      code: 'INVALID_PAYMENT',
      values: [...NO_HEX, nonce.slice(0, -1), `${nonce}0`, nonce.replace('0x', '0X'), nonce.slice(2), '1'],
    },
    {
      path: field('nonce'),
      code: 'PAYMENT_VERIFICATION_FAILED',
      values: [`0x${'1'.repeat(64)}`, `0x${'0'.repeat(64)}`, flipped(nonce, 5)],
    },
  ];
}

function windowRows({ nowS }: World): Row[] {
  const at = (seconds: bigint) => String(nowS + seconds);
  const year = 31_536_000n;
  return [
    {
      path: field('validAfter'),
      code: 'PAYMENT_VERIFICATION_FAILED',
      values: ['1', at(60n), at(year), String(nowS * 1000n), HUGE],
    },
    { path: field('validBefore'), code: 'INVALID_PAYMENT', values: [...NO_NUMBERS, '9'.repeat(79)] },
    {
      path: field('validBefore'),
      code: 'PAYMENT_VERIFICATION_FAILED',
      values: [
        '0',
        at(-1n),
        at(0n),
        at(20n),
        at(299n),
        at(301n),
        at(2n * year),
        String((nowS + 300n) * 1000n),
        HUGE,
        '9'.repeat(78),
      ],
    },
  ];
}

function field(name: string): string {
  return `payload.authorization.${name}`;
}

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

function signatureRows({ signature, otherSignature }: World): Row[] {
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)];
  const highS = (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
  const otherV = v === '1b' ? '1c' : '1b';
  const zeros = '0'.repeat(64);
  return [
    {
      path: 'payload.signature',
      code: 'INVALID_PAYMENT',
      values: [
        ...NO_HEX,
        signature.slice(2),
        signature.slice(0, -1),
        signature.replace('0x', '0X'),
        ` ${signature}`,
        `0x${'ab'.repeat(2_049)}`,
      ],
    },
    {
      path: 'payload.signature',
      code: 'PAYMENT_VERIFICATION_FAILED',
      values: [
        otherSignature,
        // The other encoding of the same signature.
        `0x${r}${highS}${otherV}`,
        `0x${r}${highS}${v}`,
        `0x${r}${s}${otherV}`,
        `0x${r}${s}${v === '1b' ? '00' : '01'}`,
        `0x${r}${s}1d`,
        `0x${r}${s}ff`,
        `0x${zeros}${s}${v}`,
        `0x${r}${zeros}${v}`,
        `0x${zeros}${zeros}${v}`,
        `0x${'f'.repeat(128)}${v}`,
        `0x${r}${s}`,
        `${signature}00`,
        `0x00${signature.slice(2)}`,
        flipped(signature, 7),
        flipped(signature, 90),
      ],
    },
    {
      path: 'payload.signature',
      code: 'INVALID_PAYMENT_PAYER',
      values: [`${signature}${'6492'.repeat(16)}`],
    },
  ];
}

/** Changes the hex digit at one place. */
function flipped(hex: string, place: number): string {
  return `${hex.slice(0, place)}${hex[place] === '0' ? '1' : '0'}${hex.slice(place + 1)}`;
}

/** Copies `content` with another value at `path`. */
export function changed(content: object, path: string, value: unknown): Record<string, unknown> {
  const copy = structuredClone(content) as Record<string, unknown>;
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const owner = steps.reduce((inside, step) => inside[step] as Record<string, unknown>, copy);
  if (value === undefined) delete owner[last];
  else owner[last] = value;
  return copy;
}
