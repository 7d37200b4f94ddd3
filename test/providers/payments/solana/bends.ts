/** One violation of the exact scheme on Solana in each row, or of what may be left out of it, and the code it is refused with. */
import { randomBytes } from 'node:crypto';
import { AccountRole, type Address, getBase58Decoder, type Instruction } from '@solana/kit';
import type { PaymentRefusal } from '../../../../providers/payments/paymentNetwork.ts';
import {
  type Bend,
  type Compiled,
  memo,
  newKey,
  SIX_DOLLARS,
  type TransferParts,
  transferOf,
  unitLimit,
  unitPrice,
  type World,
} from './solanaWorld.ts';

export type BendRow = readonly [name: string, code: PaymentRefusal, bend: Bend];

const LIGHTHOUSE = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95' as Address;
const SYSTEM = '11111111111111111111111111111111' as Address;
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address;
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;
const ASSOCIATED = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address;
const FIRST_MEMO = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo' as Address;
const LATE_MEMO = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH' as Address;
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111' as Address;

const other = newKey().address;

/** The instructions of a payment, changed. */
function list(change: (instructions: Instruction[], world: World) => Instruction[]): Bend {
  return { draft: (draft, world) => ({ ...draft, instructions: change(draft.instructions, world) }) };
}

/** The same transfer with other parts. */
function transfer(parts: TransferParts | ((world: World) => TransferParts | Promise<TransferParts>)): Bend {
  return {
    async draft(draft, world) {
      const bent = transferOf(world, typeof parts === 'function' ? await parts(world) : parts);
      const { instructions } = draft;
      return { ...draft, instructions: [...instructions.slice(0, 2), bent, ...instructions.slice(3)] };
    },
  };
}

function at(index: number, instruction: Instruction | ((world: World) => Instruction)): Bend {
  return list((all, world) =>
    all.with(index, typeof instruction === 'function' ? instruction(world) : instruction),
  );
}

function added(...more: (Instruction | ((world: World) => Instruction))[]): Bend {
  return list((all, world) => [...all, ...more.map((one) => (typeof one === 'function' ? one(world) : one))]);
}

function to(
  programAddress: Address,
  accounts: Instruction['accounts'] = [],
  data = Buffer.from([1]),
): Instruction {
  return { programAddress, accounts, data };
}

const writable = (address: Address) => ({ address, role: AccountRole.WRITABLE });
const readonly = (address: Address) => ({ address, role: AccountRole.READONLY });

function solTransfer({ feeKey, payTo }: World): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2);
  data.writeBigUInt64LE(1_000_000n, 4);
  return to(SYSTEM, [{ address: feeKey.address, role: AccountRole.WRITABLE_SIGNER }, writable(payTo)], data);
}

const lighthouse = to(LIGHTHOUSE, [], Buffer.from([6, 0, 1]));

const LAYOUT: readonly BendRow[] = [
  ['no instructions', 'INVALID_PAYMENT', list(() => [])],
  ['only the budget', 'INVALID_PAYMENT', list((all) => all.slice(0, 2))],
  ['no budget', 'INVALID_PAYMENT', list((all) => all.slice(2))],
  ['no unit limit', 'INVALID_PAYMENT', list((all) => all.slice(1))],
  ['no unit price', 'INVALID_PAYMENT', list((all) => all.toSpliced(1, 1))],
  ['no transfer', 'INVALID_PAYMENT', list((all) => all.toSpliced(2, 1))],
  ['price before limit', 'INVALID_PAYMENT', list(([a, b, ...rest]) => [b, a, ...rest] as Instruction[])],
  ['transfer first', 'INVALID_PAYMENT', list(([a, b, c, ...rest]) => [c, a, b, ...rest] as Instruction[])],
  ['memo before the transfer', 'INVALID_PAYMENT', list(([a, b, c, d]) => [a, b, d, c] as Instruction[])],
  ['two limits', 'INVALID_PAYMENT', at(1, unitLimit(20_000))],
  ['two prices', 'INVALID_PAYMENT', at(0, unitPrice(1n))],
  ['two transfers', 'INVALID_PAYMENT', added((world) => transferOf(world))],
  ['a second transfer for the memo', 'INVALID_PAYMENT', at(3, (world) => transferOf(world))],
  ['seven instructions', 'INVALID_PAYMENT', added(memo('2'), memo('3'), memo('4'))],
  ['a check at the sixth place', 'INVALID_PAYMENT', added(lighthouse, lighthouse)],
  ['a transfer of SOL', 'INVALID_PAYMENT', added(solTransfer)],
  ['a system instruction', 'INVALID_PAYMENT', at(3, to(SYSTEM))],
  ['an associated account is made', 'INVALID_PAYMENT', added(to(ASSOCIATED))],
  ['an unknown program', 'INVALID_PAYMENT', added(to(other))],
  ['the first memo program', 'INVALID_PAYMENT', at(3, to(FIRST_MEMO))],
  ['a later memo program', 'INVALID_PAYMENT', at(3, to(LATE_MEMO))],
  ['a third budget instruction', 'INVALID_PAYMENT', added(unitLimit(1))],
  ['a token instruction behind', 'INVALID_PAYMENT', added(to(TOKEN, [], Buffer.from([9])))],
  ['a memo of 257 bytes', 'INVALID_PAYMENT', at(3, memo('m'.repeat(257)))],
];

const BUDGET: readonly BendRow[] = [
  ['a limit above ours', 'INVALID_PAYMENT', at(0, unitLimit(200_001))],
  ['the highest limit', 'INVALID_PAYMENT', at(0, unitLimit(2 ** 32 - 1))],
  ['a limit of four bytes', 'INVALID_PAYMENT', at(0, unitLimit(20_000, 4))],
  ['a limit of six bytes', 'INVALID_PAYMENT', at(0, to(COMPUTE_BUDGET, [], Buffer.from([2, 1, 0, 0, 0, 0])))],
  ['a limit without data', 'INVALID_PAYMENT', at(0, to(COMPUTE_BUDGET, [], Buffer.alloc(0)))],
  [
    'a limit with an account',
    'INVALID_PAYMENT',
    at(0, { ...unitLimit(20_000), accounts: [readonly(other)] }),
  ],
  ['a limit of another program', 'INVALID_PAYMENT', at(0, { ...unitLimit(20_000), programAddress: other })],
  [
    'a heap frame for the limit',
    'INVALID_PAYMENT',
    at(0, to(COMPUTE_BUDGET, [], Buffer.from([1, 0, 0, 1, 0]))),
  ],
  ['a price above 5 lamports', 'INVALID_PAYMENT', at(1, unitPrice(5_000_001n))],
  ['the highest price', 'INVALID_PAYMENT', at(1, unitPrice(2n ** 64n - 1n))],
  ['a price of eight bytes', 'INVALID_PAYMENT', at(1, unitPrice(1n, 8))],
  [
    'a price of ten bytes',
    'INVALID_PAYMENT',
    at(1, to(COMPUTE_BUDGET, [], Buffer.from([3, ...new Uint8Array(9)]))),
  ],
  ['a price with an account', 'INVALID_PAYMENT', at(1, { ...unitPrice(1n), accounts: [readonly(other)] })],
  ['a price of another program', 'INVALID_PAYMENT', at(1, { ...unitPrice(1n), programAddress: other })],
  [
    'a loaded-data limit for the price',
    'INVALID_PAYMENT',
    at(1, to(COMPUTE_BUDGET, [], Buffer.from([4, 0, 0, 1, 0]))),
  ],
];

const TRANSFER: readonly BendRow[] = [
  ['another mint', 'UNSUPPORTED_TOKEN', transfer({ mint: other })],
  ['five decimals', 'UNSUPPORTED_TOKEN', transfer({ decimals: 5 })],
  ['nine decimals', 'UNSUPPORTED_TOKEN', transfer({ decimals: 9 })],
  ['an unchecked transfer', 'INVALID_PAYMENT', transfer({ kind: 3, size: 9 })],
  ['an approval', 'INVALID_PAYMENT', transfer({ kind: 13 })],
  ['a burn', 'INVALID_PAYMENT', transfer({ kind: 15 })],
  ['nine bytes', 'INVALID_PAYMENT', transfer({ size: 9 })],
  ['eleven bytes', 'INVALID_PAYMENT', transfer({ size: 11 })],
  ['no data', 'INVALID_PAYMENT', transfer({ size: 0 })],
  ['a program that is no token’s', 'INVALID_PAYMENT', transfer({ program: other })],
  ['a fifth account', 'INVALID_PAYMENT', transfer({ others: [readonly(other)] })],
  [
    'the account of somebody else',
    'INVALID_PAYMENT_RECIPIENT',
    transfer(async ({ usd }) => ({ destination: await usd.accountOf(other) })),
  ],
  [
    'the recipient’s wallet itself',
    'INVALID_PAYMENT_RECIPIENT',
    transfer(({ payTo }) => ({ destination: payTo })),
  ],
  ['back to the payer', 'INVALID_PAYMENT_RECIPIENT', transfer(({ source }) => ({ destination: source }))],
  [
    'the account under the other token program',
    'INVALID_PAYMENT_RECIPIENT',
    transfer({ program: TOKEN_2022 }),
  ],
  [
    'the fee payer’s account as destination',
    'INVALID_PAYMENT_RECIPIENT',
    transfer(async ({ usd, feeKey }) => ({ destination: await usd.accountOf(feeKey.address) })),
  ],
  ['from an account that is not the associated one', 'INVALID_PAYMENT_PAYER', transfer({ source: other })],
  [
    'from the account of the fee payer',
    'INVALID_PAYMENT_PAYER',
    transfer(async ({ usd, feeKey }) => ({ source: await usd.accountOf(feeKey.address) })),
  ],
  [
    'from the recipient’s account',
    'INVALID_PAYMENT_PAYER',
    transfer(({ destination }) => ({ source: destination })),
  ],
  ['nothing', 'AMOUNT_TOO_LOW', transfer({ amount: 0n })],
  ['a unit below five dollars', 'AMOUNT_TOO_LOW', transfer({ amount: 4_999_999n })],
  ['a unit above ten thousand', 'AMOUNT_TOO_HIGH', transfer({ amount: 10_000_000_001n })],
  ['the highest amount', 'AMOUNT_TOO_HIGH', transfer({ amount: 2n ** 64n - 1n })],
  ['the amount in big-endian', 'AMOUNT_TOO_HIGH', transfer({ amount: reversed(SIX_DOLLARS) })],
];

const FEE_PAYER: readonly BendRow[] = [
  ['another fee payer', 'INVALID_PAYMENT', { draft: (draft) => ({ ...draft, feePayer: other }) }],
  [
    'the recipient as fee payer',
    'INVALID_PAYMENT',
    { draft: (draft, { payTo }) => ({ ...draft, feePayer: payTo }) },
  ],
  [
    'the payer as fee payer',
    'INVALID_PAYMENT',
    { draft: (draft, { payer }) => ({ ...draft, feePayer: payer.address }) },
  ],
  [
    'the fee payer as authority',
    'INVALID_PAYMENT',
    transfer(({ feeKey }) => ({ authority: feeKey.address })),
  ],
  ['the fee payer as source', 'INVALID_PAYMENT', transfer(({ feeKey }) => ({ source: feeKey.address }))],
  [
    'the fee payer as destination',
    'INVALID_PAYMENT',
    transfer(({ feeKey }) => ({ destination: feeKey.address })),
  ],
  ['the fee payer as mint', 'INVALID_PAYMENT', transfer(({ feeKey }) => ({ mint: feeKey.address }))],
  [
    'the fee payer as a second authority',
    'INVALID_PAYMENT',
    transfer(({ feeKey }) => ({ others: [{ address: feeKey.address, role: AccountRole.READONLY_SIGNER }] })),
  ],
  [
    'the fee payer in a memo',
    'INVALID_PAYMENT',
    at(3, ({ feeKey }) => ({ ...memo('m'), accounts: [readonly(feeKey.address)] })),
  ],
  [
    'the fee payer in a wallet’s check',
    'INVALID_PAYMENT',
    at(3, ({ feeKey }) => ({ ...lighthouse, accounts: [writable(feeKey.address)] })),
  ],
  [
    'the fee payer in the budget',
    'INVALID_PAYMENT',
    at(0, ({ feeKey }) => ({ ...unitLimit(1), accounts: [readonly(feeKey.address)] })),
  ],
  [
    'the fee payer as a program',
    'INVALID_PAYMENT',
    { compiled: (message) => instruction(message, 3, { programAddressIndex: 0 }) },
  ],
];

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
  [
    'bytes behind the message',
    'INVALID_PAYMENT',
    { message: (bytes) => Buffer.concat([bytes, Buffer.from([0])]) },
  ],
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
  [
    'one signature',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([Buffer.from([1]), bytes.subarray(65)]) },
  ],
  [
    'three signatures',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([Buffer.from([3]), Buffer.alloc(64), bytes.subarray(1)]) },
  ],
  [
    'no signatures',
    'INVALID_PAYMENT',
    { wire: (bytes) => Buffer.concat([Buffer.from([0]), bytes.subarray(129)]) },
  ],
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
  [
    'a signature of the amount before',
    'PAYMENT_VERIFICATION_FAILED',
    { wire: (bytes) => raiseAmount(bytes) },
  ],
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

/** Nobody has these keys, and everybody can sign for them: with themselves as the nonce, and zero. */
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
  [
    'padding in the middle',
    'INVALID_PAYMENT_FORMAT',
    { text: (text) => `${text.slice(0, 4)}=${text.slice(4)}` },
  ],
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

export const BENDS: readonly BendRow[] = [
  ...LAYOUT,
  ...BUDGET,
  ...TRANSFER,
  ...FEE_PAYER,
  ...MESSAGE,
  ...SIGNATURE,
  ...SMALL_ORDER,
  ...TEXT,
];

/** Left out, added by wallets, or simply allowed: taken. */
export const ALLOWED: readonly (readonly [name: string, bend: Bend])[] = [
  ['no memo', list((all) => all.slice(0, 3))],
  ['one check and a memo', list((all) => all.toSpliced(3, 0, lighthouse))],
  ['two checks and a memo', list((all) => all.toSpliced(3, 0, lighthouse, lighthouse))],
  ['a memo and two checks', list((all) => [...all.slice(0, 4), lighthouse, memo('last')])],
  ['the highest price', at(1, unitPrice(5_000_000n))],
  ['the highest limit', at(0, unitLimit(200_000))],
  [
    'a memo that its payer signs',
    at(3, ({ payer }) => ({
      ...memo('m'),
      accounts: [{ address: payer.address, role: AccountRole.READONLY_SIGNER }],
    })),
  ],
  ['five dollars', transfer({ amount: 5_000_000n })],
  ['no padding', { text: (text) => text.replace(/=+$/, '') }],
];

function instruction(
  message: Compiled,
  index: number,
  change: Partial<Compiled['instructions'][number]>,
): Compiled {
  const instructions = message.instructions.map((each, at) => (at === index ? { ...each, ...change } : each));
  return { ...message, instructions };
}

function withLookup(message: Compiled): Compiled {
  const lookup = { lookupTableAddress: other, readonlyIndexes: [0], writableIndexes: [] };
  return { ...message, addressTableLookups: [lookup] } as Compiled;
}

function setByte(bytes: Buffer, index: number, value: number): Buffer {
  bytes[index] = value;
  return bytes;
}

function reversed(amount: bigint): bigint {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(amount);
  return bytes.readBigUInt64BE();
}

/** Ten times as much, after it was signed. */
function raiseAmount(bytes: Buffer): Buffer {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(SIX_DOLLARS);
  bytes.writeBigUInt64LE(SIX_DOLLARS * 10n, bytes.indexOf(amount, 129));
  return bytes;
}

/** The scalar plus the order of the group: the same equation holds. */
function addOrder(bytes: Buffer): Buffer {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const scalar = bytes.subarray(97, 129);
  const raised = BigInt(`0x${Buffer.from(scalar).reverse().toString('hex')}`) + order;
  Buffer.from(raised.toString(16).padStart(64, '0'), 'hex').reverse().copy(scalar);
  return bytes;
}

/** The same bytes with a bit set that belongs to none. */
function loosened(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 3)) % 3)]);
  const spelling = padded.toString('base64');
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const last = spelling.replace(/=+$/, '').length - 1;
  const loose = alphabet[alphabet.indexOf(spelling[last] ?? 'A') + 1] ?? 'B';
  return spelling.slice(0, last) + loose + spelling.slice(last + 1);
}
