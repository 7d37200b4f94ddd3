import type { Command } from 'commander';
import type pg from 'pg';
import {
  type ChainPayment,
  compareWithBooks,
  creditedWithoutPayment,
  type Difference,
} from '../domain/payments/reconcile.ts';
import { withDemoChain } from '../infra/config/demoChain.ts';
import { processEnvironment, secretReader } from '../infra/config/environment.ts';
import type { OperatorEnvironment } from '../infra/config/operator.ts';
import { readConfigurationFile } from '../infra/config/readFile.ts';
import { networksOf, type PaymentNetworkSettings } from '../infra/config/x402.ts';
import {
  bookedPayments,
  creditedSince,
  creditFoundPayment,
  type FoundPayment,
} from '../infra/postgres/bookedTopUps.ts';
import { paymentIdOf } from '../infra/postgres/topUps.ts';
import { createTransferReader } from '../providers/payments/createPaymentNetworks.ts';
import type { IncomingTransfer } from '../providers/payments/paymentNetwork.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { readPast } from './arguments.ts';
import { CommandError, errorLine } from './commandError.ts';
import { print, table } from './output.ts';
import { withDatabase } from './withDatabase.ts';

const DAY_SECONDS = 86_400;
const DEFAULT_DAYS = 7;
/** A payment may be on its chain this long before it is first seen here. */
const SECONDS_BEFORE = DAY_SECONDS;
const LIMIT_MS = 3_600_000;
const DECIMALS = 6;

interface ReconcileOptions {
  since?: Date;
  credit?: boolean;
  json?: boolean;
}

export function addTopUpCommands(program: Command): void {
  const topUps = program.command('top-ups').description('top-ups: what wallets paid in');
  topUps
    .command('reconcile')
    .description("compare the books with the chains' transfers to payTo, both ways; exits 1 with what differs")
    .option('--since <time>', `an ISO date or time (default: ${DEFAULT_DAYS} days ago)`, readPast)
    .option('--credit', 'book payments that are missing in the books and whose payer is a known wallet')
    .option('--json', 'print JSON')
    .action(reconcile);
}

interface ReconcileResult {
  /** Payments on the chains since the given time. */
  payments: number;
  /** Transfers to `payTo` that are not payments. They credit no account. */
  otherTransfers: number;
  differences: (Difference & { credit?: string })[];
}

async function reconcile(options: ReconcileOptions): Promise<void> {
  const since = options.since ?? new Date(Date.now() - DEFAULT_DAYS * DAY_SECONDS * 1_000);
  const answer = await withDatabase(async (pool, environment) => {
    const total: ReconcileResult = { payments: 0, otherTransfers: 0, differences: [] };
    for (const settings of configuredNetworks(environment)) {
      const found = await reconcileNetwork({ pool, settings, since, mayCredit: options.credit === true });
      total.payments += found.payments;
      total.otherTransfers += found.otherTransfers;
      total.differences.push(...found.differences);
    }
    return total;
  });
  const open = answer.differences.filter(({ credit }) => credit !== 'credited');
  print(options, {
    json: { ok: open.length === 0, since: since.toISOString(), ...answer },
    text: textOf(answer),
  });
  if (open.length > 0) process.exitCode = 1;
}

function configuredNetworks({ FAREBOX_CONFIG, FAREBOX_DEMO_CHAIN }: OperatorEnvironment) {
  const { x402 } = withDemoChain(PROVIDERS, readConfigurationFile(PROVIDERS, FAREBOX_CONFIG), FAREBOX_DEMO_CHAIN);
  const networks = networksOf(x402, secretReader(processEnvironment()));
  if (networks.length === 0) throw new CommandError('no payment network is configured (x402.networks)');
  return networks;
}

interface Reconciliation {
  pool: pg.Pool;
  settings: PaymentNetworkSettings;
  since: Date;
  mayCredit: boolean;
}

/** Credits are read before the chain and booked payments after it, so that a top-up made meanwhile is no difference. */
async function reconcileNetwork({ pool, settings, since, mayCredit }: Reconciliation): Promise<ReconcileResult> {
  const { network, asset } = settings;
  const credited = await creditedSince(pool, { network, asset, since });
  const sinceSeconds = Math.floor(since.getTime() / 1_000);
  const transfers = await transfersSince(settings, sinceSeconds - SECONDS_BEFORE);
  const payments = transfers.flatMap((transfer) => foundPayment(transfer) ?? []);
  const ids = payments.map(({ paymentId }) => paymentId);
  const booked = await bookedPayments(pool, ids);
  const differences: ReconcileResult['differences'] = creditedWithoutPayment(credited, new Set(ids));
  const recent = payments.filter(({ atSeconds }) => atSeconds >= sinceSeconds);
  for (const payment of recent) {
    const difference = compareWithBooks(payment, booked.get(payment.paymentId));
    if (difference === undefined) continue;
    const mayBook = mayCredit && (difference.kind === 'not booked' || difference.kind === 'not credited');
    differences.push({
      ...difference,
      ...(mayBook && { credit: await creditFoundPayment(pool, payment) }),
    });
  }
  const others = transfers.filter(({ payment, atSeconds }) => !payment && atSeconds >= sinceSeconds);
  return { payments: recent.length, otherTransfers: others.length, differences };
}

async function transfersSince(settings: PaymentNetworkSettings, sinceSeconds: number): Promise<IncomingTransfer[]> {
  const reader = createTransferReader(settings);
  const transfers: IncomingTransfer[] = [];
  try {
    for await (const transfer of reader.read(sinceSeconds, AbortSignal.timeout(LIMIT_MS))) transfers.push(transfer);
  } catch (error) {
    throw new CommandError(`the nodes of ${settings.network} could not be read: ${errorLine(error)}`);
  } finally {
    await reader.close();
  }
  return transfers;
}

function foundPayment(transfer: IncomingTransfer): (FoundPayment & ChainPayment & { atSeconds: number }) | undefined {
  const { network, asset, transaction, amount, atSeconds, payment } = transfer;
  if (payment === undefined) return undefined;
  const paymentId = paymentIdOf({ network, asset, ...payment });
  return { paymentId, network, asset, ...payment, amount, decimals: DECIMALS, transaction, atSeconds };
}

function textOf({ payments, otherTransfers, differences }: ReconcileResult): string {
  const seen = `${payments} payments on the chains; ${otherTransfers} other transfers, which credit nobody`;
  if (differences.length === 0) return `top-ups: the books and the chains agree (${seen})`;
  const rows = differences.map(({ kind, paymentId, network, transaction, paidUnits, creditedUnits, credit }) => ({
    ...{ difference: kind, payment: paymentId, network, transaction: transaction ?? null },
    ...{ paid: paidUnits ?? null, credited: creditedUnits ?? null, now: credit ?? null },
  }));
  return `${table(rows, '')}\n\n${seen}`;
}
