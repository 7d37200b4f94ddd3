import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spawnNode } from '../harness/spawn.ts';
import { COMPLETE } from './environments.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'farebox-start-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NETWORK = {
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: `0x${'cafe'.repeat(10)}`,
  rpcUrls: ['https://one.example'],
};
const OWN = { ...NETWORK, feePayerKeyEnv: 'PAYER_KEY' };

const CASES: [string, object, Record<string, string>, string][] = [
  ['an empty key', OWN, { PAYER_KEY: '' }, 'PAYER_KEY is not set'],
  ['a key that is none', OWN, { PAYER_KEY: 'not-a-key-but-secret' }, 'PAYER_KEY holds no such key'],
  ['an empty recipient', { ...OWN, payTo: '' }, { PAYER_KEY: '7'.repeat(64) }, 'x402.networks[0].payTo'],
  ['nobody who settles', NETWORK, {}, 'x402.networks[0]: found neither'],
];

describe.each(['api', 'workers'])('an %s process', (kind) => {
  test.each(CASES)('exits at once with the reason: %s', async (_name, network, variables, words) => {
    const file = path.join(folder, 'config.json');
    writeFileSync(file, JSON.stringify({ x402: { networks: [network] } }));
    const child = spawnNode({
      script: `dist/${kind}/main.js`,
      name: kind,
      environment: { ...(COMPLETE as Record<string, string>), ...variables, FAREBOX_CONFIG: file },
      runFolder: folder,
    });
    expect(await child.exit).toMatchObject({ code: 1 });
    expect(child.logs()).toContain(words);
    expect(child.logs()).not.toContain('not-a-key-but-secret');
  });
});
