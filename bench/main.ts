/** `npm run bench`: runs all benchmarks or the named ones. Exit code 1 when a bar is missed. */
import { parseArgs } from 'node:util';
import { openParts } from '../test/harness/parts.ts';
import { benchmarkChat } from './chat.ts';
import { benchmarkDelivery } from './delivery.ts';
import { benchmarkFairness } from './fairness.ts';
import { benchmarkFrontDoor } from './frontDoor.ts';
import { benchmarkJobs } from './jobs.ts';
import { benchmarkLedger } from './ledger.ts';
import { benchmarkLedgerCheck } from './ledgerCheck.ts';
import { benchmarkMedia } from './media.ts';
import { benchmarkMemory } from './memory.ts';
import { benchmarkModels } from './models.ts';
import { comparePairs, PAIRS_GROUPS } from './pairs.ts';
import { benchmarkRetrieve } from './retrieve.ts';
import { benchmarkRpc } from './rpc.ts';
import { benchmarkScrape } from './scrape.ts';
import { benchmarkSignIn } from './signIn.ts';
import { benchmarkStalls } from './stalls.ts';
import { MIN_INTERVAL_VALUES } from './statistics.ts';
import { benchmarkTopUp } from './topUp.ts';
import { benchmarkUsage } from './usage.ts';
import { benchmarkWaiting } from './waiting.ts';
import { benchmarkWallets } from './wallets.ts';

const { values: options, positionals: named } = readArguments();

const BENCHMARKS: Record<string, () => Promise<{ ok: boolean }>> = {
  ledger: async () => {
    const parts = await openParts({ durable: true });
    try {
      return await benchmarkLedger({ databaseUrl: parts.services.databaseUrl });
    } finally {
      await parts.close();
    }
  },
  'ledger-check': async () => {
    const parts = await openParts({ durable: true });
    try {
      return await benchmarkLedgerCheck(parts.services.databaseUrl, options.old);
    } finally {
      await parts.close();
    }
  },
  front: () => benchmarkFrontDoor(),
  models: () => benchmarkModels(),
  usage: () => benchmarkUsage(),
  retrieve: () => benchmarkRetrieve(),
  delivery: () => benchmarkDelivery(),
  media: () => benchmarkMedia(),
  memory: () => benchmarkMemory(),
  jobs: () => benchmarkJobs(),
  fairness: () => benchmarkFairness(),
  waiting: () => benchmarkWaiting(),
  scrape: () => benchmarkScrape(),
  stalls: () => benchmarkStalls(),
  chat: () => benchmarkChat(),
  signin: () => benchmarkSignIn(),
  wallets: () => benchmarkWallets(),
  topup: () => benchmarkTopUp(),
  rpc: () => benchmarkRpc(),
  ...(options.old !== undefined && { pairs: readPairsArguments(options.old) }),
};

const unknown = named.filter((name) => !(name in BENCHMARKS));
if (unknown.includes('pairs')) refuse('pairs needs --old, the folder of a built checkout');
if (unknown.length > 0) {
  refuse(`no such benchmark: ${unknown.join(', ')} (there are ${Object.keys(BENCHMARKS).join(', ')}, pairs)`);
}
let missed = 0;
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const { ok } = await run();
  console.log(ok ? `${name}: every bar reached\n` : `${name}: MISSED a bar\n`);
  if (!ok) missed += 1;
}
process.exit(missed === 0 ? 0 : 1);

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { old: { type: 'string' }, only: { type: 'string' }, pairs: { type: 'string' } },
    });
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
}

function readPairsArguments(old: string): () => Promise<{ ok: boolean }> {
  const count = options.pairs === undefined ? undefined : Number(options.pairs);
  if (count !== undefined && !(Number.isInteger(count) && count >= MIN_INTERVAL_VALUES)) {
    refuse(`--pairs: found "${options.pairs}", allowed: a number from ${MIN_INTERVAL_VALUES}`);
  }
  const only = options.only?.split(',');
  const unknown = only?.filter((name) => !PAIRS_GROUPS.includes(name)) ?? [];
  if (unknown.length > 0) refuse(`--only: no such group: ${unknown.join(', ')} (there are ${PAIRS_GROUPS.join(', ')})`);
  return () => comparePairs({ old, ...(only && { only }), ...(count !== undefined && { pairs: count }) });
}

function refuse(words: string): never {
  console.error(words);
  process.exit(2);
}
