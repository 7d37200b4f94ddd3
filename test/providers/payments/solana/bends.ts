/** Each row is one violation of the exact scheme on Solana, or one permitted omission, with the code of its refusal. */
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import { added, at, type BendRow, instruction, list, to, transfer } from './bendTools.ts';
import { BYTE_BENDS } from './byteBends.ts';
import { type Bend, memo, newKey, SIX_DOLLARS, transferOf, unitLimit, unitPrice, type World } from './solanaWorld.ts';

const LIGHTHOUSE = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95' as Address;
const SYSTEM = '11111111111111111111111111111111' as Address;
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' as Address;
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;
const ASSOCIATED = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address;
const FIRST_MEMO = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo' as Address;
const LATE_MEMO = 'Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH' as Address;
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111' as Address;

const other = newKey().address;

const writable = (address: Address) => ({ address, role: AccountRole.WRITABLE });
const readonly = (address: Address) => ({ address, role: AccountRole.READONLY });

function solTransfer({ feeKey, payTo }: World): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2);
  data.writeBigUInt64LE(1_000_000n, 4);
  return to(SYSTEM, [{ address: feeKey.address, role: AccountRole.WRITABLE_SIGNER }, writable(payTo)], data);
}

const lighthouse = to(LIGHTHOUSE, [], Buffer.from([6, 0, 1]));

/** With the checks that some wallets add. Accepted only if a facilitator pays the fee, because they can fail later. */
export const CHECKED: readonly (readonly [name: string, bend: Bend])[] = [
  ['one check and a memo', list((all) => all.toSpliced(3, 0, lighthouse))],
  ['two checks and a memo', list((all) => all.toSpliced(3, 0, lighthouse, lighthouse))],
  ['a memo and a check', list((all) => [...all.slice(0, 4), lighthouse, memo('last')])],
];

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
  ...CHECKED.map(([name, bend]) => [name, 'INVALID_PAYMENT', bend] as const),
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
  ['a limit with an account', 'INVALID_PAYMENT', at(0, { ...unitLimit(20_000), accounts: [readonly(other)] })],
  ['a limit of another program', 'INVALID_PAYMENT', at(0, { ...unitLimit(20_000), programAddress: other })],
  ['a heap frame for the limit', 'INVALID_PAYMENT', at(0, to(COMPUTE_BUDGET, [], Buffer.from([1, 0, 0, 1, 0])))],
  ['a price above half a lamport', 'INVALID_PAYMENT', at(1, unitPrice(500_001n))],
  ['the highest price', 'INVALID_PAYMENT', at(1, unitPrice(2n ** 64n - 1n))],
  ['a price of eight bytes', 'INVALID_PAYMENT', at(1, unitPrice(1n, 8))],
  ['a price of ten bytes', 'INVALID_PAYMENT', at(1, to(COMPUTE_BUDGET, [], Buffer.from([3, ...new Uint8Array(9)])))],
  ['a price with an account', 'INVALID_PAYMENT', at(1, { ...unitPrice(1n), accounts: [readonly(other)] })],
  ['a price of another program', 'INVALID_PAYMENT', at(1, { ...unitPrice(1n), programAddress: other })],
  ['a loaded-data limit for the price', 'INVALID_PAYMENT', at(1, to(COMPUTE_BUDGET, [], Buffer.from([4, 0, 0, 1, 0])))],
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
  ['the recipient’s wallet itself', 'INVALID_PAYMENT_RECIPIENT', transfer(({ payTo }) => ({ destination: payTo }))],
  ['back to the payer', 'INVALID_PAYMENT_RECIPIENT', transfer(({ source }) => ({ destination: source }))],
  ['the account under the other token program', 'INVALID_PAYMENT_RECIPIENT', transfer({ program: TOKEN_2022 })],
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
  ['from the recipient’s account', 'INVALID_PAYMENT_PAYER', transfer(({ destination }) => ({ source: destination }))],
  ['nothing', 'AMOUNT_TOO_LOW', transfer({ amount: 0n })],
  ['a unit below five dollars', 'AMOUNT_TOO_LOW', transfer({ amount: 4_999_999n })],
  ['a unit above ten thousand', 'AMOUNT_TOO_HIGH', transfer({ amount: 10_000_000_001n })],
  ['the highest amount', 'AMOUNT_TOO_HIGH', transfer({ amount: 2n ** 64n - 1n })],
  ['the amount in big-endian', 'AMOUNT_TOO_HIGH', transfer({ amount: reversed(SIX_DOLLARS) })],
];

const OTHER_PAYERS: readonly BendRow[] = [
  [
    'the recipient pays itself',
    'INVALID_PAYMENT_PAYER',
    {
      ...transfer(({ payTo, destination }) => ({ authority: payTo, source: destination })),
      signer: ({ recipient }) => recipient,
    },
  ],
  [
    'somebody else’s authority, who has not signed',
    'INVALID_PAYMENT_PAYER',
    list((all, world) => {
      const bent = transferOf(world);
      const accounts = (bent.accounts ?? []).with(3, readonly(other));
      const signer = { address: world.payer.address, role: AccountRole.READONLY_SIGNER };
      return [...all.slice(0, 2), { ...bent, accounts }, { ...memo('m'), accounts: [signer] }];
    }),
  ],
  [
    'a memo of an account that is not there',
    'INVALID_PAYMENT',
    { compiled: (message) => instruction(message, 3, { accountIndices: [99] }) },
  ],
];

const FEE_PAYER: readonly BendRow[] = [
  ['another fee payer', 'INVALID_PAYMENT', { draft: (draft) => ({ ...draft, feePayer: other }) }],
  ['the recipient as fee payer', 'INVALID_PAYMENT', { draft: (draft, { payTo }) => ({ ...draft, feePayer: payTo }) }],
  [
    'the payer as fee payer',
    'INVALID_PAYMENT',
    { draft: (draft, { payer }) => ({ ...draft, feePayer: payer.address }) },
  ],
  ['the fee payer as authority', 'INVALID_PAYMENT', transfer(({ feeKey }) => ({ authority: feeKey.address }))],
  ['the fee payer as source', 'INVALID_PAYMENT', transfer(({ feeKey }) => ({ source: feeKey.address }))],
  ['the fee payer as destination', 'INVALID_PAYMENT', transfer(({ feeKey }) => ({ destination: feeKey.address }))],
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

export const BENDS: readonly BendRow[] = [
  ...LAYOUT,
  ...BUDGET,
  ...TRANSFER,
  ...OTHER_PAYERS,
  ...FEE_PAYER,
  ...BYTE_BENDS,
];

/** Accepted: omissions, additions of wallets, and other permitted differences. */
export const ALLOWED: readonly (readonly [name: string, bend: Bend])[] = [
  ['no memo', list((all) => all.slice(0, 3))],
  ['the highest price', at(1, unitPrice(500_000n))],
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

function reversed(amount: bigint): bigint {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(amount);
  return bytes.readBigUInt64BE();
}
