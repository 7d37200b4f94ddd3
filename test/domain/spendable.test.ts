import { expect, it } from 'vitest';
import { type LimitRoom, spendableWithin } from '../../domain/spendable.ts';

const NONE: LimitRoom = { usd: undefined, diem: undefined };
const FUNDS = { usd: 100n, bundled: 30n, diem: 10n };

it.each<[string, LimitRoom[], { usd: bigint; bundled: bigint; diem: bigint }]>([
  ['the whole without a limit', [NONE, NONE], FUNDS],
  ['the whole where the limits are wider', [{ usd: 131n, diem: 11n }, NONE], FUNDS],
  [
    'bundled credit first within a limit in USD',
    [{ usd: 40n, diem: undefined }],
    { usd: 10n, bundled: 30n, diem: 10n },
  ],
  ['bundled credit alone', [{ usd: 20n, diem: undefined }], { usd: 0n, bundled: 20n, diem: 10n }],
  [
    'the least of both keys',
    [
      { usd: 50n, diem: 9n },
      { usd: 45n, diem: 4n },
    ],
    { usd: 15n, bundled: 30n, diem: 4n },
  ],
  [
    'the least of both keys, each in its currency',
    [
      { usd: 35n, diem: 9n },
      { usd: 45n, diem: 4n },
    ],
    { usd: 5n, bundled: 30n, diem: 4n },
  ],
  [
    'nothing beyond a limit that was lowered below its use',
    [{ usd: -5n, diem: -1n }],
    { usd: 0n, bundled: 0n, diem: 0n },
  ],
])('leaves %s', (_what, rooms, expected) => {
  expect(spendableWithin(FUNDS, rooms)).toEqual(expected);
});
