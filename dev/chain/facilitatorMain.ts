/** Process of the demo facilitator: `node facilitatorMain.js <settings>`. */
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { readJson } from '../stack/jsonFile.ts';
import { createFacilitator, facilitatorServer } from './facilitator.ts';

/** Settings file, readable by its owner only. */
export interface FacilitatorSettings {
  rpcUrl: string;
  chainId: number;
  port: number;
  privateKey: Hex;
}

const settings = readJson<FacilitatorSettings>(process.argv[2] ?? '');
if (settings === undefined) throw new Error('name the file of settings');
const account = privateKeyToAccount(settings.privateKey);
const server = facilitatorServer(await createFacilitator({ ...settings, account }));
server.listen(settings.port, '127.0.0.1', () => console.log(`a facilitator of chain ${settings.chainId}`));
process.once('SIGTERM', () => process.exit(0));
