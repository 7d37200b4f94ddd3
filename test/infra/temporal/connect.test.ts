import net from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTemporal, type Temporal } from '../../../infra/temporal/connect.ts';
import { services } from '../../harness/services.ts';

const LIMIT_MS = 300;

let silent: net.Server;
let temporal: Temporal;

beforeEach(async () => {
  silent = net.createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as net.AddressInfo;
  temporal = openTemporal({ address: `127.0.0.1:${port}`, namespace: 'default', retries: 'none' });
});

afterEach(async () => {
  await temporal.close();
  silent.close();
});

test('limits the wait for a silent server', async () => {
  const startedAt = Date.now();
  await expect(temporal.ready(LIMIT_MS)).rejects.toMatchObject({ code: 4 });
  const looking = temporal.within(LIMIT_MS, (client) => client.workflow.getHandle('a-job').describe());
  await expect(looking).rejects.toMatchObject({ cause: { code: 4 } });
  expect(Date.now() - startedAt).toBeLessThan(20 * LIMIT_MS);
});

test('keeps separate limits for concurrent calls', async () => {
  const there = openTemporal({ ...services().temporal, namespace: 'default' });
  const asked = await Promise.allSettled([
    there.within(0, (client) => client.workflow.count()),
    there.within(60_000, (client) => client.workflow.count()),
    there.ready(60_000),
  ]);
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  await there.close();
});
