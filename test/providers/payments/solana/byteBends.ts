/** Violations in the bytes of a payment's transaction: encoding, signatures, text. */
import { randomBytes } from 'node:crypto';
import { type Address, getBase58Decoder } from '@solana/kit';
import { at, type BendRow, instruction, to, transfer } from './bendTools.ts';
import { type Compiled, newKey, SIX_DOLLARS } from './solanaWorld.ts';

const SYSTEM = '11111111111111111111111111111111' as Address;
const other = newKey().address;

const MESSAGE: readonly BendRow[] = [
  ['a legacy message', 'INVALID_PAYMENT', { message: (bytes) => bytes.subarray(1, -1) }],
  ['version 1', 'INVALID_PAYMENT', { message: (bytes) => setByte(bytes, 0, 0x81) }],
  ['version 127', 'INVALID_PAYMENT', { message: (bytes) => setByte(bytes, 0, 0xff) }],
  ['an empty message', 'INVALID_PAYMENT', { message: () => Buffer.alloc(0) }],
  ['a lookup table', 'INVALID_PAYMENT', { compiled: (message) => withLookup(message) }],
  [
    'a third signer',
    'INVALID_PAYMENT',
    { compiled: (message) => ({ ...message, header: { ...message.header, numSignerAccounts: 3 } }) },
  ],
  [
    'one signer',
    'INVALID_PAYMENT',
    { compiled: (message) => ({ ...message, header: { ...message.header, numSignerAccounts: 1 } }) },
  ],
  [
    'an account twice',
    'INVALID_PAYMENT',
    {
      compiled: (message) => ({
        ...message,
        staticAccounts: [...message.staticAccounts, ...message.staticAccounts.slice(-1)],
      }),
    },
  ],
  [
    'an account that is not there',
    'INVALID_PAYMENT',
    { compiled: (message) => instruction(message, 2, { accountIndices: [99, 2, 3, 1] }) },
  ],
  [
    'a program that is not there',
    'INVALID_PAYMENT',
    { compiled: (message) => instruction(message, 3, { programAddressIndex: 200 }) },
  ],
  ['bytes behind the message', 'INVALID_PAYMENT', { message: (bytes) => Buffer.concat([bytes, Buffer.from([0])]) }],
  ['a message cut off', 'INVALID_PAYMENT', { message: (bytes) => bytes.subarray(0, -20) }],
  [
    'a count written long',
    'INVALID_PAYMENT',
    {
      message: (bytes) =>
        Buffer.concat([bytes.subarray(0, 4), Buffer.from([(bytes[4] ?? 0) | 0x80, 0]), bytes.subarray(5)]),
    },
  ],
  ['a nonce instead of the budget', 'INVALID_PAYMENT', at(0, to(SYSTEM, [], Buffer.from([4, 0, 0, 0])))],
  [
    'random bytes',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([bytes.subarray(0, 129), randomBytes(bytes.length - 129)]) },
  ],
  ['one signature', 'INVALID_PAYMENT', { wire: (bytes) => Buffer.concat([Buffer.from([1]), bytes.subarray(65)]) }],
  [
    'three signatures',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([Buffer.from([3]), Buffer.alloc(64), bytes.subarray(1)]) },
  ],
  ['no signatures', 'INVALID_PAYMENT', { wire: (bytes) => Buffer.concat([Buffer.from([0]), bytes.subarray(129)]) }],
  ['only a signature count', 'INVALID_PAYMENT', { wire: () => Buffer.from([2]) }],
  [
    'the signature count written long',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([Buffer.from([0x82, 0]), bytes.subarray(1)]) },
  ],
];

const SIGNATURE: readonly BendRow[] = [
  ['not signed', 'PAYMENT_VERIFICATION_FAILED', { wire: (bytes) => bytes.fill(0, 65, 129) }],
  ['signed by somebody else', 'PAYMENT_VERIFICATION_FAILED', { signer: () => newKey() }],
  ['signed by the fee payer', 'PAYMENT_VERIFICATION_FAILED', { signer: ({ feeKey }) => feeKey }],
  [
    'a bit of the signature',
    'PAYMENT_VERIFICATION_FAILED',
    { wire: (bytes) => setByte(bytes, 70, (bytes[70] ?? 0) ^ 1) },
  ],
  ['a signature of the amount before', 'PAYMENT_VERIFICATION_FAILED', { wire: (bytes) => raiseAmount(bytes) }],
  ['the signature’s second spelling', 'PAYMENT_VERIFICATION_FAILED', { wire: (bytes) => addOrder(bytes) }],
  [
    'a signature in the fee payer’s place',
    'PAYMENT_VERIFICATION_FAILED',
    {
      wire: (bytes) =>
        Buffer.concat([bytes.subarray(0, 1), bytes.subarray(65, 129), Buffer.alloc(64), bytes.subarray(129)]),
    },
  ],
  [
    'a memo changed afterwards',
    'PAYMENT_VERIFICATION_FAILED',
    { wire: (bytes) => setByte(bytes, bytes.length - 2, (bytes.at(-2) ?? 0) ^ 1) },
  ],
];

/** Public keys of small order: anybody can sign for them, with the key itself as the nonce and a zero scalar. */
const KEYLESS = ['01', '00', 'ec'].map((first) => {
  const key = Buffer.alloc(32, first === 'ec' ? 0xff : 0);
  key[0] = Number.parseInt(first, 16);
  if (first === 'ec') key[31] = 0x7f;
  return key;
});

const SMALL_ORDER: readonly BendRow[] = KEYLESS.map((key) => {
  const address = getBase58Decoder().decode(key) as Address;
  return [
    `the payer is the key ${address}`,
    'PAYMENT_VERIFICATION_FAILED',
    {
      ...transfer(async ({ usd }) => ({ authority: address, source: await usd.accountOf(address) })),
      wire: (bytes) => Buffer.concat([bytes.subarray(0, 65), key, Buffer.alloc(32), bytes.subarray(129)]),
    },
  ];
});

const TEXT: readonly BendRow[] = [
  ['no text', 'INVALID_PAYMENT_FORMAT', { text: () => undefined }],
  ['a number', 'INVALID_PAYMENT_FORMAT', { text: () => 7 }],
  ['a list', 'INVALID_PAYMENT_FORMAT', { text: (text) => [text] }],
  ['an empty text', 'INVALID_PAYMENT_FORMAT', { text: () => '' }],
  ['the alphabet for addresses', 'INVALID_PAYMENT_FORMAT', { text: (text) => `-${text.slice(1)}` }],
  ['a line break', 'INVALID_PAYMENT_FORMAT', { text: (text) => `${text.slice(0, 60)}\n${text.slice(60)}` }],
  ['a space behind', 'INVALID_PAYMENT_FORMAT', { text: (text) => `${text} ` }],
  ['padding in the middle', 'INVALID_PAYMENT_FORMAT', { text: (text) => `${text.slice(0, 4)}=${text.slice(4)}` }],
  ['padding too much', 'INVALID_PAYMENT_FORMAT', { text: (text) => `${text}===` }],
  ['bits behind the last byte', 'INVALID_PAYMENT_FORMAT', { text: (text) => loosened(text) }],
  ['hex', 'INVALID_PAYMENT', { text: (text) => Buffer.from(text, 'base64').toString('hex').slice(0, 400) }],
  [
    'more than a packet',
    'INVALID_PAYMENT_FORMAT',
    { wire: (bytes) => Buffer.concat([bytes, Buffer.alloc(1_233 - bytes.length)]) },
  ],
  ['a megabyte', 'INVALID_PAYMENT_FORMAT', { text: () => 'A'.repeat(1_000_000) }],
];

export const BYTE_BENDS: readonly BendRow[] = [...MESSAGE, ...SIGNATURE, ...SMALL_ORDER, ...TEXT];

function withLookup(message: Compiled): Compiled {
  const lookup = { lookupTableAddress: other, readonlyIndexes: [0], writableIndexes: [] };
  return { ...message, addressTableLookups: [lookup] } as Compiled;
}

function setByte(bytes: Buffer, index: number, value: number): Buffer {
  bytes[index] = value;
  return bytes;
}

/** Multiplies the amount by ten after it was signed. */
function raiseAmount(bytes: Buffer): Buffer {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(SIX_DOLLARS);
  bytes.writeBigUInt64LE(SIX_DOLLARS * 10n, bytes.indexOf(amount, 129));
  return bytes;
}

/** Adds the group order to the scalar: the same equation holds. */
function addOrder(bytes: Buffer): Buffer {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const scalar = bytes.subarray(97, 129);
  const raised = BigInt(`0x${Buffer.from(scalar).reverse().toString('hex')}`) + order;
  Buffer.from(raised.toString(16).padStart(64, '0'), 'hex').reverse().copy(scalar);
  return bytes;
}

/** Sets an unused bit in the encoding of the same bytes. */
function loosened(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 3)) % 3)]);
  const spelling = padded.toString('base64');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const last = spelling.replace(/=+$/, '').length - 1;
  const loose = alphabet[alphabet.indexOf(spelling[last] ?? 'A') + 1] ?? 'B';
  return spelling.slice(0, last) + loose + spelling.slice(last + 1);
}
