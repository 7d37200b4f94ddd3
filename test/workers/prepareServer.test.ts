import { Connection, ScheduleClient } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createLogger } from '../../infra/log.ts';
import { openTemporal } from '../../infra/temporal/connect.ts';
import { prepareServer } from '../../workers/prepareServer.ts';
import { UPKEEP_DUTIES } from '../../workflows/contract.ts';
import { createNamespace, services } from '../harness/services.ts';
import { severable } from '../harness/severable.ts';
import { until } from '../harness/until.ts';

it('makes the upkeep schedules when the server comes back, though no version can be registered', async () => {
  const namespace = await createNamespace();
  const { address } = services().temporal;
  const way = await severable(address);
  const temporal = openTemporal({ address: way.address, namespace, retries: 'none' });
  const lines: string[] = [];
  const log = createLogger({
    level: 'info',
    name: 'test',
    destination: { write: (line) => lines.push(line) },
  });
  const stop = new AbortController();
  way.sever();
  const prepared = prepareServer({ temporal, namespace, buildId: 'nobody-polls', log, signal: stop.signal });
  const said = async () => lines.some((line) => line.includes('the upkeep schedules are not made yet'));
  await until('a failure is logged', said);
  way.mend();
  const connection = await Connection.connect({ address });
  const schedules = new ScheduleClient({ connection, namespace });
  const isMade = async () => {
    const found: string[] = [];
    for await (const { scheduleId } of schedules.list()) found.push(scheduleId);
    return UPKEEP_DUTIES.every((duty) => found.includes(`farebox-${duty}`));
  };
  await until('the schedules are made', isMade);
  stop.abort();
  await prepared;
  expect(lines.some((line) => line.includes('this version is not registered yet'))).toBe(true);
  await connection.close();
  await temporal.close();
  way.close();
});
