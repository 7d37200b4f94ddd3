import { readFileSync } from 'node:fs';
import type { Abi, Hex } from 'viem';

export interface Artifact {
  abi: Abi;
  bytecode: Hex;
}

/** Reads a contract for tests by its name in test/chains/contracts (`OddUSD.json`). */
export function testContract(name: string): Artifact {
  return JSON.parse(readFileSync(new URL(`./contracts/${name}.json`, import.meta.url), 'utf8')) as Artifact;
}
