/** Damage to entries: jobs, payments, units and prices, rests and credit. */
import type { SoundBooks } from './soundBooks.ts';

/** Name of the damage, the invariant that must be reported, and the statements. */
export type Damage = [string, string, (of: SoundBooks) => string[]];

/** Columns that a planted transfer copies. */
export const COPIED = 'operation_id, kind, account_id, house, currency, day, key_id, details';
export const setDetail = (path: string, value: string) =>
  `update transfers set details = jsonb_set(details, '{${path}}', '${value}')`;

/** Changes the amount of a USD charge, with matching balances and usage. */
const recharge = (b: SoundBooks, id: string, { from, to }: { from: number; to: number }) => [
  `update operations set price_usd = ${to}, usd = ${to}, held_usd = case when held_usd > 0 then greatest(held_usd, ${to}) end
    where operation_id = '${id}'`,
  `update transfers set amount = -${to} where operation_id = '${id}'`,
  `update accounts set usd_posted = usd_posted - ${to - from} where id = '${b.account}'`,
  `update key_days set usd_used = usd_used + ${to - from} where key_id = '${b.key}'`,
];
/** Removes a USD charge, with matching balances and usage. */
const uncharge = (b: SoundBooks, id: string, amount: number) => [
  `delete from transfers where operation_id = '${id}'`,
  `delete from operations where operation_id = '${id}'`,
  `update accounts set usd_posted = usd_posted + ${amount} where id = '${b.account}'`,
  `update key_days set usd_used = usd_used - ${amount} where key_id = '${b.key}'`,
];
/** Credits 500 USD for nothing, with a matching balance. */
const give = (b: SoundBooks, kind: string, house: string) => [
  `insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
    select 'planted', '${kind}', id, 'done', (now() at time zone 'UTC')::date, 0, 0, 500000000000, now()
    from accounts where id = '${b.account}'`,
  `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
    select now(), 'planted', '${kind}', id, '${house}', 'usd', 500000000000, (now() at time zone 'UTC')::date, '{"notes": "x"}'
    from accounts where id = '${b.account}'`,
  `update accounts set usd_posted = usd_posted + 500000000000 where id = '${b.account}'`,
];

export const ENTRY_DAMAGE: Damage[] = [
  // Jobs without charges, and charges without jobs.
  ['a charge for a job without its job', 'I14', (b) => [`delete from jobs where queue_id = '${b.storedJob}'`]],
  [
    'a charge for a job that another charge pays',
    'I14',
    (b) => [`update jobs set charge_operation_id = gen_random_uuid() where queue_id = '${b.storedJob}'`],
  ],
  [
    'a job without its charge',
    'I6 a job',
    (b) => [
      `delete from transfers where operation_id = '${b.storedJob}'`,
      `delete from operations where operation_id = '${b.storedJob}'`,
      `update accounts set usd_posted = usd_posted + 1000 where id = '${b.account}'`,
      `update key_days set usd_used = usd_used - 1000 where key_id = '${b.key}'`,
    ],
  ],
  [
    'a failed job that was not refunded',
    'I6 a job',
    (b) => [`update jobs set state = 'failed', refund_id = 'r' where queue_id = '${b.storedJob}'`],
  ],
  [
    'a refunded job whose output is there',
    'I6 a job',
    (b) => [`update jobs set state = 'stored', refund_id = null where queue_id = '${b.failedJob}'`],
  ],
  [
    'a refunded job that names another refund',
    'I6 a job',
    (b) => [`update jobs set refund_id = 'another' where queue_id = '${b.failedJob}'`],
  ],
  [
    "a job on another account's charge",
    'I6 a job',
    (b) => [`update jobs set account_id = '${b.other}' where queue_id = '${b.storedJob}'`],
  ],
  [
    "a job on another key's charge",
    'I6 a job',
    (b) => [`update jobs set key_id = null where queue_id = '${b.storedJob}'`],
  ],
  [
    'a job 7 days past its deadline, neither stored nor refunded',
    'I11 no job',
    (b) => [`update jobs set deadline_at = now() - interval '7 days' where queue_id = '${b.runningJob}'`],
  ],
  [
    'a charge for a job that neither has its job nor names it',
    'I14',
    (b) => [
      `update transfers set details = details - 'queueId' where operation_id = '${b.storedJob}'`,
      `delete from jobs where queue_id = '${b.storedJob}'`,
    ],
  ],
  // Payments from a chain.
  [
    "a payment of 5 USDC, credited as 500 USD to somebody else's wallet",
    'I7 a payment',
    (b) => [
      `update top_ups set credited_units = 500000000, credited_nano = 500000000000, account_id = '${b.other}'`,
      `update operations set usd = 500000000000, account_id = '${b.other}' where operation_id = '${b.payment}'`,
      `update transfers set amount = 500000000000, account_id = '${b.other}' where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = usd_posted + 500000000000 where id = '${b.other}'`,
      `update accounts set usd_posted = 0 where id = '${b.wallet}'`,
    ],
  ],
  [
    'a payment credited with more than was paid',
    'I7 a payment',
    (b) => [
      'update top_ups set credited_units = 6000000, credited_nano = 6000000000',
      `update operations set usd = 6000000000 where operation_id = '${b.payment}'`,
      `update transfers set amount = 6000000000 where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = 6000000000 where id = '${b.wallet}'`,
    ],
  ],
  ['a payment of another decimal', 'I7 a payment', () => ['update top_ups set decimals = 7']],
  [
    'a wallet whose account is not its own',
    'I7 a payment',
    (b) => [`update wallet_accounts set account_id = '${b.other}'`],
  ],
  ['a credit without its payment', 'I5 a payment', () => ['delete from top_ups']],
  [
    'a payment said to be credited without its credit',
    'I5 a payment',
    (b) => [
      `delete from transfers where operation_id = '${b.payment}'`,
      `delete from operations where operation_id = '${b.payment}'`,
      `update accounts set usd_posted = 0 where id = '${b.wallet}'`,
    ],
  ],
  [
    'a credit for a payment that failed',
    'I5 a payment',
    () => ["update top_ups set state = 'failed', credited_units = null, credited_nano = null"],
  ],
  // Descriptions of what was sold.
  [
    'units that have nothing to do with the charge',
    'I10 units',
    (b) => [`${setDetail('units', '"30"')} where operation_id = '${b.rpc}'`],
  ],
  [
    'a price per unit that has nothing to do with the charge',
    'I10 units',
    (b) => [`${setDetail('pricePerUnitUsd', '"70"')} where operation_id = '${b.rpc}'`],
  ],
  [
    'units of a text call that are not its tokens',
    'I10 the units',
    (b) => [`${setDetail('units', '"0.3"')} where operation_id = '${b.chat}'`],
  ],
  [
    'a text call that took 500,000 for lines of 900',
    'I10 the lines',
    (b) => recharge(b, b.text, { from: 900, to: 500_000 }),
  ],
  ['a text call that took 1 for lines of 900', 'I10 the lines', (b) => recharge(b, b.text, { from: 900, to: 1 })],
  [
    'a text call whose price in diem is not that of its lines',
    'I10 the lines',
    (b) => [`update operations set price_diem = 1800 where operation_id = '${b.chat}'`],
  ],
  [
    'lines of fewer tokens than were counted',
    'I10 the lines',
    (b) => [`${setDetail('lines', '[900, 1000000]')} where operation_id = '${b.text}'`],
  ],
  [
    'lines that are no numbers',
    'I10 the lines',
    (b) => [`${setDetail('lines', '["100", "1", null, 1]')} where operation_id = '${b.text}'`],
  ],
  [
    'a text call without lines',
    'I10 a charge says',
    (b) => [`update transfers set details = details - 'lines' where operation_id = '${b.text}'`],
  ],
  [
    'an entry that says nothing of what it sold',
    'I10 a charge says',
    (b) => [`update transfers set details = '{}' where operation_id = '${b.rpc}'`],
  ],
  [
    'an entry with another unit, which has several rates',
    'I10 a charge says',
    (b) => [`${setDetail('unit', '"million tokens"')} where operation_id = '${b.rpc}'`],
  ],
  [
    'a charge that poses as the rest of another',
    'I10 a charge says',
    (b) => [
      `update transfers set details = details - 'promptTokens' || '{"restOf": "another", "units": "0"}'
        where operation_id = '${b.text}'`,
    ],
  ],
  // Amounts beyond a hold.
  [
    'a rest of a charge that took its whole price',
    'I6 what exceeds',
    (b) => [
      `update operations set operation_id = '${b.text}:rest' where operation_id = '${b.overrun}:rest'`,
      `update transfers set operation_id = '${b.text}:rest' where operation_id = '${b.overrun}:rest'`,
      `update operations set price_usd = 1000 where operation_id = '${b.overrun}'`,
    ],
  ],
  ['a rest of a charge that is not there', 'I6 what exceeds', (b) => uncharge(b, b.overrun, 1_000)],
  [
    'a rest of a charge of another account',
    'I6 what exceeds',
    (b) => [`update operations set account_id = '${b.other}' where operation_id = '${b.overrun}'`],
  ],
  [
    'a rest of 1,000 times what was left to pay',
    'I6 what exceeds',
    (b) => recharge(b, `${b.overrun}:rest`, { from: 500, to: 500_000 }),
  ],
  ['a bill above its hold without its rest', 'I6 what exceeds', (b) => uncharge(b, `${b.overrun}:rest`, 500)],
  // Credit.
  ['a top-up of 500 USD that no payment from a chain has paid', 'I5 a payment', (b) => give(b, 'top_up', 'payments')],
  ['a grant of 500 USD without its act', 'I5 credit', (b) => give(b, 'grant', 'issuance')],
  ['a correction by 500 USD without its act', 'I5 credit', (b) => give(b, 'adjustment', 'adjustments')],
  [
    'a grant of another amount than its act',
    'I5 credit',
    (b) => [
      `update transfers set amount = 1000001 where operation_id = 'fund:usd:${b.other}'`,
      `update operations set usd = 1000001 where operation_id = 'fund:usd:${b.other}'`,
      `update accounts set usd_posted = 1000001 where id = '${b.other}'`,
    ],
  ],
  [
    'an act of a grant without its grant',
    'I5 credit',
    (b) => [
      `delete from transfers where operation_id = 'fund:usd:${b.other}'`,
      `delete from operations where operation_id = 'fund:usd:${b.other}'`,
      `update accounts set usd_posted = 0 where id = '${b.other}'`,
    ],
  ],
  [
    'vcu of another operation than their grant',
    'I5 an operation',
    (b) => [
      `insert into transfers (created_at, ${COPIED}, amount)
        select created_at, ${COPIED.replace('currency', "'vcu'")}, -70 from transfers where operation_id = '${b.text}'`,
      `update accounts set vcu_posted = 0 where id = '${b.account}'`,
    ],
  ],
  [
    'vcu of another amount than their act',
    'I5 credit',
    (b) => [
      `update transfers set amount = 71 where operation_id = '${b.vcu}'`,
      `update accounts set vcu_posted = 71 where id = '${b.account}'`,
    ],
  ],
  [
    'a grant of vcu that moved none',
    'I5 credit',
    (b) => [
      `delete from transfers where operation_id = '${b.vcu}'`,
      `update accounts set vcu_posted = 0 where id = '${b.account}'`,
    ],
  ],
];
