import { expect, test } from 'vitest';
import { isPlainMint } from '../../../../providers/payments/solana/mint.ts';
import { TOKEN_2022_PROGRAM_ADDRESS } from '../../../chains/solana/solanaMeta.ts';
import { builtByLibraries } from './libraryPayment.ts';
import { envelopeOf, openWorld, SIX_DOLLARS } from './solanaWorld.ts';

const signal = new AbortController().signal;

test('verifies, settles and finds a payment built with the Solana libraries, for both token programs', async () => {
  for (const usd of [{}, { program: TOKEN_2022_PROGRAM_ADDRESS }]) {
    const world = await openWorld({ usd });
    const { chain, payments, payTo } = world;
    const accepted = await payments.offer(SIX_DOLLARS.toString());
    const { transaction } = await builtByLibraries(accepted, {
      rpcUrl: world.nodes[0]?.url ?? '',
      secret: world.payer.secret,
    });
    const given = { ...envelopeOf(world, transaction), accepted };
    const payment = await payments.read(given, Date.now());
    await payments.verify(payment, signal);
    expect(await payments.settle(payment, signal)).toMatchObject({ outcome: 'sent' });
    chain.advance(32);
    expect(await payments.find(payment, signal)).toMatchObject({ state: 'final', amount: '6000000' });
    expect(await world.usd.balanceOf(payTo)).toBe(SIX_DOLLARS + 1n);
  }
});

/** A mint of six decimals, followed by Token-2022 extensions with `length` bytes each. */
function mintWith(extensions: readonly number[], { decimals = 6, kind = 1, length = 8 } = {}): Buffer {
  const mint = Buffer.alloc(82);
  mint[44] = decimals;
  mint[45] = 1;
  if (extensions.length === 0) return mint;
  const each = extensions.map((extension) => {
    const bytes = Buffer.alloc(4 + length);
    bytes.writeUInt16LE(extension);
    bytes.writeUInt16LE(length, 2);
    return bytes;
  });
  return Buffer.concat([mint, Buffer.alloc(83), Buffer.from([kind]), ...each]);
}

test('rejects a token whose transfers may move another amount than stated', () => {
  expect(isPlainMint(mintWith([]), 6)).toBe(true);
  expect(isPlainMint(mintWith([18, 19]), 6)).toBe(true);
  expect(isPlainMint(mintWith([]), 9)).toBe(false);
  expect(isPlainMint(mintWith([], { decimals: 5 }), 6)).toBe(false);
  expect(isPlainMint(Buffer.alloc(82), 6)).toBe(false);
  expect(isPlainMint(Buffer.alloc(81), 6)).toBe(false);
  expect(isPlainMint(mintWith([18], { kind: 2 }), 6)).toBe(false);
  // Fees, confidential transfers, frozen by default, not transferable, interest, permanent delegate, hook, pause.
  for (const extension of [1, 4, 6, 9, 10, 12, 14, 16, 25, 26, 999]) {
    expect(isPlainMint(mintWith([18, extension]), 6), String(extension)).toBe(false);
  }
});
