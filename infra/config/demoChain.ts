/** Adds the chains of a demonstration to those of the operator's file. */
import { ConfigError } from './problems.ts';
import { checkConfiguration, parseJson, readText } from './readFile.ts';
import type { ConfigurationFile } from './schema/file.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';
import { isTestNetwork } from './testNetworks.ts';

const MEANING = 'FAREBOX_DEMO_CHAIN names a file that npm start -- --with-demo-chain writes';

/**
 * Adds the payment networks and chain nodes of the file `named` to `file`. They come first, so that a wallet that takes
 * the first offer pays on the demonstration's chain. Throws ConfigError where both have the same chain.
 */
export function withDemoChain(
  kinds: ConfigurableKinds,
  file: ConfigurationFile,
  named: string | undefined,
): ConfigurationFile {
  if (named === undefined) return file;
  const added = checkConfiguration(kinds, parseJson(readText(named, MEANING) ?? '', named), named);
  const [payment] = added.x402.networks;
  const clashes = demoChainClashes(file, {
    network: payment?.network ?? '',
    rpcNetworks: Object.keys(added.rpc.networks),
  });
  if (clashes.length > 0) throw new ConfigError(named, clashes);
  return {
    ...file,
    x402: { ...file.x402, networks: [...added.x402.networks, ...file.x402.networks] },
    rpc: { networks: { ...file.rpc.networks, ...added.rpc.networks } },
  };
}

/**
 * Conflicts of the demonstration's chain with the operator's file: the file has that chain already (one of the two
 * would never be used), or takes real payments.
 */
export function demoChainClashes(
  { x402, rpc }: { x402: { networks: readonly { network: string }[] }; rpc: ConfigurationFile['rpc'] },
  demo: { network: string; rpcNetworks: readonly string[] },
): string[] {
  const words = 'is in the configuration file already: take it out there, or start without --with-demo-chain';
  return [
    ...x402.networks
      .filter(({ network }) => network === demo.network)
      .map(({ network }) => `x402.networks: "${network}" ${words}`),
    ...x402.networks
      .filter(({ network }) => !isTestNetwork(network))
      .map(
        ({ network }) =>
          `x402.networks: "${network}" takes real payments, and those of the demonstration are worth nothing: take it out ` +
          'there, or start without --with-demo-chain',
      ),
    ...demo.rpcNetworks
      .filter((name) => Object.hasOwn(rpc.networks, name))
      .map((name) => `rpc.networks: "${name}" ${words}`),
  ];
}
