import { hostname } from 'node:os';
import type { Command } from 'commander';
import { requireVariables } from '../infra/config/environment.ts';
import { readOperatorEnvironment } from '../infra/config/operator.ts';
import { CommandError } from './commandError.ts';
import { print } from './output.ts';

/** A worker polls again at least every minute. */
const MAX_SILENCE_MS = 120_000;

export function addWorkerCommands(program: Command): void {
  const worker = program.command('worker').description('worker processes');
  worker
    .command('check')
    .description('exits 0 while a worker on this host asks for work on every queue it serves (for health checks)')
    .option('--json', 'print JSON')
    .action(check);
}

async function check(options: { json?: boolean }): Promise<void> {
  const environment = readOperatorEnvironment();
  requireVariables(environment, ['TEMPORAL_ADDRESS']);
  // Imported here so that the other commands start in half the time.
  const { openTemporal } = await import('../infra/temporal/connect.ts');
  const { lastPollOf } = await import('../infra/temporal/pollers.ts');
  const temporal = openTemporal({
    address: environment.TEMPORAL_ADDRESS,
    namespace: environment.TEMPORAL_NAMESPACE,
  });
  try {
    const queues = environment.FAREBOX_WORKER_QUEUES;
    const since = new Date(Date.now() - MAX_SILENCE_MS);
    const polls = await Promise.all(queues.map((queue) => lastPollOf(temporal, { queue, host: hostname() })));
    const silent = queues.filter((_queue, index) => (polls[index] ?? since) <= since);
    print(options, {
      json: { ok: silent.length === 0, silent },
      text: `asks for work: ${queues.join(', ')}`,
    });
    if (silent.length > 0) {
      throw new CommandError(`no worker on ${hostname()} asks for work on ${silent.join(', ')}`, 1);
    }
  } finally {
    await temporal.close();
  }
}
