/** `npm run bench`: all benchmarks by name, or the named ones; exit code 1 when a bar is not reached. */
import { parseArgs } from 'node:util';
import { openParts } from '../test/harness/parts.ts';
import { run as chat } from './chat.ts';
import { run as delivery } from './delivery.ts';
import { run as fairness } from './fairness.ts';
import { run as frontDoor } from './frontDoor.ts';
import { run as jobs } from './jobs.ts';
import { run as ledger } from './ledger.ts';
import { run as ledgerCheck } from './ledgerCheck.ts';
import { run as media } from './media.ts';
import { run as memory } from './memory.ts';
import { run as models } from './models.ts';
import { PAIRS_GROUPS, run as pairs } from './pairs.ts';
import { run as retrieve } from './retrieve.ts';
import { run as rpc } from './rpc.ts';
import { run as scrape } from './scrape.ts';
import { run as signIn } from './signIn.ts';
import { run as stalls } from './stalls.ts';
import { MIN_INTERVAL_VALUES } from './statistics.ts';
import { run as topUp } from './topUp.ts';
import { run as usage } from './usage.ts';
import { run as waiting } from './waiting.ts';
import { run as wallets } from './wallets.ts';

const { values: options, positionals: named } = readArguments();

const BENCHMARKS: Record<string, () => Promise<{ ok: boolean }>> = {
  ledger: async () => {
    const parts = await openParts({ durable: true });
    try {
      return await ledger({ databaseUrl: parts.services.databaseUrl });
    } finally {
      await parts.close();
    }
  },
  'ledger-check': async () => {
    const parts = await openParts({ durable: true });
    try {
      return await ledgerCheck(parts.services.databaseUrl, options.old);
    } finally {
      await parts.close();
    }
  },
  front: () => frontDoor(),
  models: () => models(),
  usage: () => usage(),
  retrieve: () => retrieve(),
  delivery: () => delivery(),
  media: () => media(),
  memory: () => memory(),
  jobs: () => jobs(),
  fairness: () => fairness(),
  waiting: () => waiting(),
  scrape: () => scrape(),
  stalls: () => stalls(),
  chat: () => chat(),
  signin: () => signIn(),
  wallets: () => wallets(),
  topup: () => topUp(),
  rpc: () => rpc(),
  ...(options.old !== undefined && { pairs: comparePairs(options.old) }),
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

function comparePairs(old: string): () => Promise<{ ok: boolean }> {
  const count = options.pairs === undefined ? undefined : Number(options.pairs);
  if (count !== undefined && !(Number.isInteger(count) && count >= MIN_INTERVAL_VALUES)) {
    refuse(`--pairs: found "${options.pairs}", allowed: a number from ${MIN_INTERVAL_VALUES}`);
  }
  const only = options.only?.split(',');
  const unknown = only?.filter((name) => !PAIRS_GROUPS.includes(name)) ?? [];
  if (unknown.length > 0) refuse(`--only: no such group: ${unknown.join(', ')} (there are ${PAIRS_GROUPS.join(', ')})`);
  return () => pairs({ old, ...(only && { only }), ...(count !== undefined && { pairs: count }) });
}

function refuse(words: string): never {
  console.error(words);
  process.exit(2);
}
