import type { Command } from 'commander';
import { formatNano } from '../domain/money.ts';
import { type RecordedEvent, timelineOf } from '../infra/postgres/jobEvents.ts';
import { type JobRow, listJobs, readJob } from '../infra/postgres/jobs.ts';
import { type Delivery, deliveriesOf } from '../infra/postgres/webhookDeliveries.ts';
import { readLimit } from './arguments.ts';
import { requireUuid } from './chooseAccount.ts';
import { CommandError } from './commandError.ts';
import { list, print, table, time } from './output.ts';
import { withDatabase } from './withDatabase.ts';

export function addJobCommands(program: Command): void {
  const jobs = program.command('jobs').description('jobs of all accounts');
  jobs
    .command('list')
    .description('list jobs, newest first')
    .option('--account <id>', 'only those of this account')
    .option('--limit <count>', 'at most so many', readLimit, 20)
    .option('--json', 'print JSON')
    .action(listAll);
  jobs
    .command('show')
    .description('one job with its timeline, its ledger ids and its webhook deliveries')
    .argument('<queue_id>', 'the id that the queue route answered')
    .option('--json', 'print JSON')
    .action(show);
}

async function listAll(options: { account?: string; limit: number; json?: boolean }): Promise<void> {
  const account = options.account === undefined ? {} : { accountId: requireUuid(options.account, '--account') };
  await withDatabase(async (pool) => {
    const jobs = await listJobs(pool, { ...account, limit: options.limit });
    const rows = jobs.map((job) => ({
      queueId: job.queueId,
      state: job.state,
      model: job.modelId,
      seconds: job.durationSeconds,
      usd: formatNano(job.priceUsdNano),
      refunded: job.refundId !== null,
      createdAt: time(job.createdAt),
    }));
    print(options, { json: { jobs: jobs.map(view) }, text: table(rows, 'no jobs') });
  });
}

async function show(queueId: string, options: { json?: boolean }): Promise<void> {
  const id = requireUuid(queueId, 'a queue_id');
  await withDatabase(async (pool) => {
    const job = await readJob(pool, id);
    if (job === undefined) throw new CommandError(`no job ${id}`);
    const timeline = (await timelineOf(pool, id)).map(stepOf);
    const deliveries = (await deliveriesOf(pool, id)).map(deliveryView);
    const attempts = deliveries.flatMap(({ event, state, attempts: made }) =>
      made.map((attempt) => ({ event, state, ...attempt })),
    );
    print(options, {
      json: { ...view(job), timeline, deliveries },
      text: `${list(view(job))}\n\n${table(timeline, 'no steps')}\n\n${table(attempts, 'no webhook was sent')}`,
    });
  });
}

function stepOf({ event, at, ledgerId, detail }: RecordedEvent) {
  return { event, at: at.toISOString(), ledgerId, detail };
}

/** Omits the URL, which belongs to the client: the operator need not know where a delivery goes. */
function deliveryView({ id, event, state, nextAttemptAt, attempts }: Delivery) {
  const made = attempts.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }));
  return { id, event, state, nextAttemptAt: time(nextAttemptAt), attempts: made };
}

function view(job: JobRow) {
  return {
    queueId: job.queueId,
    accountId: job.accountId,
    keyId: job.keyId,
    kind: job.kind,
    model: job.modelId,
    provider: job.provider,
    state: job.state,
    requestId: job.requestId,
    durationSeconds: job.durationSeconds,
    priceUsd: formatNano(job.priceUsdNano),
    chargeId: job.chargeId,
    refundId: job.refundId,
    outputContentType: job.outputContentType,
    outputBytes: job.outputBytes,
    failure: job.failureMessage,
    createdAt: time(job.createdAt),
    storedAt: time(job.storedAt),
    endedAt: time(job.endedAt),
  };
}
