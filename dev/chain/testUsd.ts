/** Compiled test dollar, as written by dev/launch/contracts.mjs. */
import { readFileSync } from 'node:fs';
import type { Abi, Hex } from 'viem';

export const TEST_USD = JSON.parse(readFileSync(new URL('./contracts/TestUSD.json', import.meta.url), 'utf8')) as {
  abi: Abi;
  bytecode: Hex;
};
