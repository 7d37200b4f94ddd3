/** Requests that once crashed or blocked an API process: answer, price and effect on the process. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, it } from 'vitest';
import { services } from '../../harness/services.ts';
import { type Deployment, openDeployment } from '../deployment.ts';
import { probeVariables } from '../stallReports.ts';
import { checkRow } from './checkRow.ts';
import { PLAIN_ROWS } from './plainRows.ts';
import { openPlainSites, type PlainSites } from './site.ts';

let sites: PlainSites;
let deployment: Deployment;
let stallFile: string;
beforeAll(async () => {
  sites = await openPlainSites();
  stallFile = path.join(services().folder, `${randomUUID()}.stall.json`);
  deployment = await openDeployment({
    configuration: { fetch: { allowPrivateHosts: sites.hosts } },
    variables: probeVariables(stallFile),
  });
}, 180_000);
afterAll(async () => {
  await deployment?.close();
  sites?.close();
});

it.each(PLAIN_ROWS.map((row) => [row.name, row] as const))('%s', { timeout: 120_000 }, async (_name, row) => {
  const { account, origin } = deployment;
  const { takeSeen, urls } = sites;
  const target = { origin, key: account.inferenceKey, ...urls };
  await checkRow({ deployment, stallFile, takeSeen }, row, target);
});
