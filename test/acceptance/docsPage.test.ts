/** The page /docs in a real browser: it sends a request and contacts no other host. */
import { mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Deployment, openDeployment } from './deployment.ts';
import { installedBrowser, openBrowser } from './operatorPage.ts';

const BROWSER = installedBrowser();
const PICTURES = path.join(os.tmpdir(), 'farebox-docs');

let farebox: Deployment | undefined;
let browser: Browser | undefined;

beforeAll(async () => {
  if (BROWSER === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  farebox = await openDeployment({ configuration: {} });
  browser = await openBrowser(BROWSER);
});

afterAll(async () => {
  await browser?.close();
  await farebox?.close();
});

interface Seen {
  page: Page;
  requests: string[];
  complaints: string[];
}

async function open(): Promise<Seen> {
  if (!browser || !farebox) throw new Error('no browser');
  const page = await browser.newPage({ viewport: { width: 1_280, height: 1_000 } });
  page.setDefaultTimeout(20_000);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${farebox.origin}/docs`);
  await page.getByText('What a recording of this length costs').waitFor();
  return { page, requests, complaints };
}

it.skipIf(BROWSER === undefined)('sends a request from the page and contacts no other host', async () => {
  const { page, requests, complaints } = await open();
  await page.screenshot({ path: path.join(PICTURES, 'docs.png') });
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  await page
    .getByRole('textbox')
    .first()
    .fill(farebox?.account.adminKey ?? '');
  await page.locator('.auth-btn-wrapper .authorize').first().click();
  await page.locator('.btn-done').first().click();
  const operation = page.locator('[id$="-quoteVoiceChange"]');
  await operation.locator('.opblock-summary').click();
  const answered = page.waitForResponse((response) => response.url().endsWith('/voice-changer/quote'));
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = await answered;
  expect([answer.status(), await answer.json()]).toEqual([200, { quote: expect.any(Number), duration_seconds: 42.5 }]);
  await operation.locator('.live-responses-table').waitFor();
  await operation.scrollIntoViewIfNeeded();
  await page.screenshot({ path: path.join(PICTURES, 'request.png') });
  const hosts = new Set(requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin));
  expect([...hosts]).toEqual([farebox?.origin]);
  expect(complaints).toEqual([]);
});
