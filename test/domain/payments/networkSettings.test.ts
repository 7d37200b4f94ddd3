import { describe, expect, it } from 'vitest';
import { feeBudgetUnits } from '../../../domain/payments/networkSettings.ts';

describe('the fee budget', () => {
  it.each([
    ['evm', 0, 0n],
    ['evm', 1, 10n ** 18n],
    ['evm', 0.05, 5n * 10n ** 16n],
    ['evm', 1e-9, 10n ** 9n],
    ['evm', 1e-10, 0n],
    ['evm', 1_000_000, 10n ** 24n],
    ['solana', 0, 0n],
    ['solana', 1, 10n ** 9n],
    ['solana', 0.1, 10n ** 8n],
    // 0.1 + 0.2 is not an exact decimal in binary.
    ['solana', 0.1 + 0.2, 3n * 10n ** 8n],
    ['solana', 1e-9, 1n],
  ] as const)('of %s, %d coins a day, is %d in the smallest unit', (family, feeBudgetPerDay, units) => {
    expect(feeBudgetUnits({ family, feeBudgetPerDay })).toBe(units);
  });
});
