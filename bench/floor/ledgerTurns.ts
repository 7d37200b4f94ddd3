/** Runs the ledger of the checkout BENCH_CHECKOUT. Each request is one turn of hold + settle pairs. */
import { createServer } from 'node:http';
import { processEnvironment, readEnvironment } from '../../infra/config/environment.ts';
import { openCheckout } from '../checkout.ts';
import { makePayers, type Payer, runPairs } from '../ledger.ts';

const { HOST: host, PORT: port } = readEnvironment(processEnvironment());
const checkout = await openCheckout(process.env.BENCH_CHECKOUT);
const connection = { databaseUrl: process.env.DATABASE_URL ?? '', applicationName: 'farebox-bench' };
const pool = checkout.openPool({ ...connection, max: 2 });
const payers = new Map<string, Payer[]>();
for (const count of [1, 100]) payers.set(String(count), await makePayers(pool, count, checkout));
const ledger = checkout.createLedger(
  checkout.openLedgerPool?.(connection) ?? checkout.openPool({ ...connection, max: 2, pipelined: true }),
);

createServer(async (request, response) => {
  const asked = new URL(request.url ?? '', 'http://localhost').searchParams;
  try {
    const turn = runPairs(ledger, payers.get(asked.get('accounts') ?? '') ?? [], Number(asked.get('seconds')));
    response.end(JSON.stringify(await turn));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}).listen({ host, port }, () => console.log('floor ready'));
