/** Opens the Temporal UI in a real browser. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-dev-shm-usage'],
];

/** Undefined without a browser, which skips the test. */
export function installedBrowser(): string | undefined {
  return BROWSERS.find((file) => existsSync(file));
}

export function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS, timeout: 60_000 });
}

export interface Visit {
  url: string;
  /** Columns of the workflow list by namespace, as set in its settings menu. */
  columns: Record<string, string[]>;
}

/** Opens a page of the UI. Requests to other machines are blocked. */
export async function openPage(browser: Browser, { url, columns }: Visit): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_680, height: 900 } });
  page.setDefaultTimeout(30_000);
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.abort(),
  );
  const labelled = Object.entries(columns).map(([namespace, labels]) => [
    namespace,
    labels.map((label) => ({ label })),
  ]);
  const setting = JSON.stringify(JSON.stringify(Object.fromEntries(labelled)));
  await page.addInitScript(`localStorage.setItem('namespace-workflow-table-columns', ${setting})`);
  await page.goto(url);
  return page;
}
