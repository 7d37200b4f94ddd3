/** Wallets of the demo chain. Created once per data folder, so that their keys are unique. */
import path from 'node:path';
import { type Hex, toHex } from 'viem';
import { english, generateMnemonic, type HDAccount, mnemonicToAccount } from 'viem/accounts';
import { readJson, writeJson } from '../stack/jsonFile.ts';

export interface DemoWallets {
  mnemonic: string;
  /** Deploys and distributes the test dollar. */
  bank: HDAccount;
  /** Pays the gas of payments. */
  facilitator: HDAccount;
  /** Receives the payments. */
  payTo: HDAccount;
  /** Makes the payments. */
  payer: HDAccount;
}

/** The same wallets at every start of a data folder. */
export function demoWallets(folder: string): DemoWallets {
  const file = path.join(folder, 'wallets.json');
  const known = readJson<{ mnemonic: string }>(file);
  const mnemonic = known?.mnemonic ?? generateMnemonic(english);
  if (known === undefined) writeJson(file, { mnemonic });
  const wallet = (addressIndex: number) => mnemonicToAccount(mnemonic, { addressIndex });
  return { mnemonic, bank: wallet(0), facilitator: wallet(1), payTo: wallet(2), payer: wallet(3) };
}

export function privateKeyOf(wallet: HDAccount): Hex {
  const { privateKey } = wallet.getHdKey();
  if (privateKey === null) throw new Error(`the wallet ${wallet.address} has no private key`);
  return toHex(privateKey);
}
