/** The Temporal UI shows a failed job to an operator, in a real browser, without opening a payload. */
import { mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Browser, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { temporalProcess } from '../../dev/stack/parts/temporal.ts';
import { type SupervisedProcess, supervise } from '../../dev/stack/supervise.ts';
import { SEARCH_ATTRIBUTES } from '../../workflows/contract.ts';
import { registerNamespace } from '../harness/namespace.ts';
import { services } from '../harness/services.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { simulatedModels } from './models.ts';
import { installedBrowser, openBrowser, openPage } from './operatorPage.ts';
import { outcomeOf, queueFile, queueIdOf } from './orders.ts';
import { toneWav } from './recordings.ts';

const BROWSER = installedBrowser();
const PICTURES = path.join(os.tmpdir(), 'farebox-operator-ui');
const MODEL = 'prudish-voice';
const { account, model, kind, state, provider, costUsd } = SEARCH_ATTRIBUTES;
const COLUMNS = [state, account, model, costUsd, kind, provider, 'Workflow ID'];

let temporal: SupervisedProcess | undefined;
let farebox: Deployment | undefined;
let browser: Browser | undefined;
let uiUrl = '';
let queueId = '';

beforeAll(async () => {
  if (BROWSER === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  const [port = 0, uiPort = 0] = await freePorts(2);
  const folder = path.join(services().folder, 'operator-ui');
  const program = { path: services().temporal.binaryPath, origin: 'harness' };
  temporal = await supervise(temporalProcess({ program, folder, port, uiPort }), { folder });
  const address = `127.0.0.1:${port}`;
  const namespace = await registerNamespace(address);
  uiUrl = `http://127.0.0.1:${uiPort}/namespaces/${namespace}/workflows`;
  const { provider, models } = simulatedModels({ [MODEL]: { outcome: 'content_policy' } });
  farebox = await openDeployment({
    configuration: { providers: { simulated: provider }, models },
    variables: { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
  });
  const { api } = farebox.account;
  queueId = queueIdOf(await queueFile(api, { model: MODEL, source: toneWav(2) }));
  expect((await outcomeOf(api, { model: MODEL, queueId })).status).toBe(422);
  browser = await openBrowser(BROWSER);
});

afterAll(async () => {
  await browser?.close();
  await farebox?.close();
  await temporal?.stop();
});

async function open(url: string): Promise<Page> {
  if (!browser) throw new Error('no browser');
  return await openPage(browser, { url, columns: { [uiUrl.split('/').at(-2) ?? '']: COLUMNS } });
}

it.skipIf(BROWSER === undefined)("shows account, model, price, state and refund on a job's page", async () => {
  const page = await open(`${uiUrl}/${queueId}`);
  await page.getByText('User Metadata').click();
  for (const line of [
    'failed, refunded',
    'price: 0.05 USD for 2 s',
    `refund: 0.05 USD, ${queueId}`,
    `model: ${MODEL} at simulated`,
    `account: ${farebox?.account.id}`,
  ]) {
    await expectUncut(page, line);
  }
  await page.getByText('end without an output: refund').waitFor();
  await page.screenshot({ path: path.join(PICTURES, 'job.png') });
  await page.getByText('Search Attributes').first().click();
  await page.getByText('failed-refunded').waitFor();
  await page.screenshot({ path: path.join(PICTURES, 'search-attributes.png') });
});

it.skipIf(BROWSER === undefined)('shows the same in columns of the list, which can be filtered', async () => {
  const query = `${state}="failed-refunded" and ${costUsd}>0.01`;
  const page = await open(`${uiUrl}?query=${encodeURIComponent(query)}`);
  const row = page.locator('tr', { hasText: queueId });
  await row.waitFor();
  const parts = [farebox?.account.id ?? '-', MODEL, 'voice-changer', 'failed-refunded', 'simulated', '0.05'];
  for (const part of parts) await row.getByText(part, { exact: true }).first().waitFor();
  await page.screenshot({ path: path.join(PICTURES, 'list.png') });
});

/** Expects a text to be visible as a whole. The UI shows user texts in frames that cut off the rest. */
async function expectUncut(page: Page, text: string): Promise<void> {
  const look = async () => {
    const seen = await Promise.all(page.frames().map((frame) => isInSight(frame, text)));
    return seen.includes(true) ? true : undefined;
  };
  // The UI redraws the frames on updates, so this looks again.
  await eventually(() => look().catch(() => undefined));
}

async function isInSight(frame: Frame, text: string): Promise<boolean> {
  if (frame.parentFrame() === null) return false;
  const place = frame.getByText(text).first();
  const isDetails = (await frame.getByText('failed, refunded').count()) > 0;
  if (!isDetails || (await place.count()) === 0) return false;
  const [line, panel] = await Promise.all([place.boundingBox(), (await frame.frameElement()).boundingBox()]);
  return line !== null && panel !== null && line.y + line.height <= panel.y + panel.height + 1;
}
