import {
  DEMO_NETWORK,
  DEMO_RPC_NETWORK,
  type DemoChain,
  startDemoChain,
  writeDemoConfiguration,
} from '../dev/chain/demoChain.ts';
import { type LocateOptions, locateProgram } from '../dev/stack/locate.ts';
import { anvilRecipe } from '../dev/stack/recipes/anvil.ts';
import type { SuperviseOptions } from '../dev/stack/supervise.ts';
import type { Config } from '../infra/config/config.ts';
import { demoChainClashes } from '../infra/config/demoChain.ts';
import { CommandError } from './commandError.ts';

/** Throws CommandError when the operator's file names the same chain: it would be two at once. */
export function mustLeaveRoom(config: Pick<Config, 'x402' | 'rpc'>): void {
  const [clash] = demoChainClashes(config, { network: DEMO_NETWORK, rpcNetworks: [DEMO_RPC_NETWORK] });
  if (clash !== undefined) throw new CommandError(clash);
}

export interface DemoChainStart {
  folder: string;
  locate: LocateOptions;
  supervision: SuperviseOptions;
}

/** Starts it; `environment` is for all processes that shall know of it. Throws PartMissing when there is no anvil. */
export async function openDemoChain({ folder, locate, supervision }: DemoChainStart): Promise<{
  chain: DemoChain;
  environment: Record<string, string>;
}> {
  const program = await locateProgram(anvilRecipe, locate);
  const chain = await startDemoChain({ program, folder, supervision });
  return { chain, environment: { FAREBOX_DEMO_CHAIN: writeDemoConfiguration(folder, chain) } };
}
