import path from 'node:path';
import type { DemoChain } from '../dev/chain/demoChain.ts';
import type { Demo } from '../dev/stack/seedDemo.ts';
import type { Config } from '../infra/config/config.ts';

/** Models of an Ollama server that was found. */
export interface FoundModels {
  address: string;
  ids: readonly string[];
}

export interface Announcement {
  config: Config;
  demo: Demo;
  baseUrl: string;
  temporalUiUrl?: string;
  ollama?: FoundModels;
  chain?: DemoChain;
  seconds: number;
}

/** Keeps the list of models on one line. */
const MAX_NAMED = 4;

/** Text for the operator once the service is ready. */
export function announce(of: Announcement): string {
  const { config, demo, baseUrl, temporalUiUrl, ollama, chain } = of;
  const origin = new URL(baseUrl).origin;
  const rows = {
    API: baseUrl,
    documentation: `${origin}/docs`,
    health: `${origin}/readyz`,
    ...(temporalUiUrl && { 'Temporal UI': temporalUiUrl }),
    ...(ollama && { Ollama: describe(ollama) }),
    data: config.dataFolder,
    'demo account': `${demo.accountId} (100 USD at its start, 10 diem a day)`,
    'ADMIN key': demo.keys.admin,
    'INFERENCE key': demo.keys.inference,
    ...(chain && describeChain(chain)),
  };
  const width = Math.max(...Object.keys(rows).map((name) => name.length)) + 2;
  const lines = Object.entries(rows).map(([name, value]) => `  ${name.padEnd(width)}${value}`);
  return [
    `\nFarebox is ready (${of.seconds.toFixed(1)} s).`,
    ...lines,
    '\nA first request: what would a minute of voice changing cost?',
    `  curl -s ${baseUrl}/audio/voice-changer/quote \\`,
    `    -H 'Authorization: Bearer ${demo.keys.inference}' -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"local-voice-changer","duration_seconds":60}'`,
    ...(chain ? payment(config) : []),
  ].join('\n');
}

function describeChain({ rpcUrl, network, asset, payTo, wallet }: DemoChain): Record<string, string> {
  return {
    'demo chain': `${rpcUrl} (${network})`,
    'test USDC': `${asset}, paid to ${payTo}`,
    'demo wallet': `${wallet.address} (1000 test USDC)`,
    'its private key': `${wallet.privateKey} (worth nothing elsewhere)`,
  };
}

/** FAREBOX_DATA is shown only when the folder is not the default of the script. */
function payment({ dataFolder }: Config): string[] {
  const told = dataFolder === path.resolve('.farebox') ? '' : `FAREBOX_DATA='${dataFolder}' `;
  return ['\nThe demo wallet tops up 5 USD, signs in and spends some of it:', `  ${told}node examples/pay.mjs`];
}

function describe({ address, ids }: FoundModels): string {
  if (ids.length === 0) return `${address}, with no further models for text`;
  const more = ids.length > MAX_NAMED ? `, and ${ids.length - MAX_NAMED} more` : '';
  return `${address}, free of charge: ${ids.slice(0, MAX_NAMED).join(', ')}${more}`;
}
