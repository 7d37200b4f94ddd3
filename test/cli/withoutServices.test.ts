import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPLETE } from '../config/environments.ts';
import { runFarebox } from './runFarebox.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'farebox-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const COMMANDS = [
  ['keys', 'create'],
  ['keys', 'list'],
  ['keys', 'revoke'],
  ['accounts', 'create'],
  ['accounts', 'list'],
  ['credit', 'grant'],
  ['ledger', 'check'],
  ['config', 'check'],
  ['jobs', 'list'],
  ['jobs', 'show'],
  ['migrate'],
];

test.each(COMMANDS)('%s %s prints its help and offers JSON', async (...command) => {
  const { code, stdout, stderr } = await runFarebox([...command, '--help'], {}, folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: farebox ${command.join(' ')}`);
  expect(stdout).toContain('--json');
});

test('prints the help without a command, and does nothing', async () => {
  const { code, stdout, stderr } = await runFarebox([], {}, folder);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  for (const [group = ''] of COMMANDS) expect(stderr).toContain(group);
});

test.each([
  [['keys', 'crate'], "unknown command 'crate'"],
  [['keys', 'create', '--typ', 'ADMIN'], "unknown option '--typ'"],
  [['keys', 'revoke'], "missing required argument 'id'"],
  [['accounts', 'create'], "required option '--name <name>' not specified"],
])('%j is a usage error', async (args, words) => {
  const { code, stdout, stderr } = await runFarebox(args, {}, folder);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(words);
});

test('names the missing variable', async () => {
  const { code, stderr } = await runFarebox(['accounts', 'list'], {}, folder);
  expect(code).toBe(2);
  expect(stderr).toBe(
    'farebox: environment: DATABASE_URL is not set; allowed: a URL such as postgres://user:password@host:5432/database\n',
  );
});

test('config check accepts a valid configuration and lists what it lacks', async () => {
  const file = path.join(folder, 'later.json');
  const price = { usd: 0.01, diem: 0.01 };
  const spec = { name: 'Larger', pricing: { upscale: { '2x': price, '4x': price } } };
  const model = { id: 'larger', type: 'upscale', provider: 'pictures', privacy: 'private', spec };
  writeFileSync(file, JSON.stringify({ providers: { pictures: { kind: 'fal' } }, models: [model] }));
  const { code, stdout } = await runFarebox(['config', 'check'], { FAREBOX_CONFIG: file }, folder);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^configuration: +valid$/m);
  expect(stdout).not.toContain('does not serve');
  expect(stdout).toContain('DATABASE_URL, REDIS_URL');
  const incomplete = await runFarebox(['config', 'check', '--complete'], { FAREBOX_CONFIG: file }, folder);
  expect(incomplete).toMatchObject({ code: 1, stdout: '' });
  const given = Object.fromEntries(Object.entries(COMPLETE).map(([name, value]) => [name, value ?? '']));
  expect((await runFarebox(['config', 'check', '--complete'], given, folder)).code).toBe(0);
});

test('config check exits 1 with the path, what was found and what is allowed', async () => {
  const file = path.join(folder, 'wrong.json');
  writeFileSync(file, '{"media":{"retentionHours":"a day"}}');
  const words = 'media.retentionHours: found "a day", allowed: a number';
  const { code, stdout, stderr } = await runFarebox(['config', 'check'], { FAREBOX_CONFIG: file }, folder);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(`farebox: ${file}: ${words}\n`);
  const json = await runFarebox(['config', 'check', '--json'], { FAREBOX_CONFIG: file }, folder);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toEqual({ ok: false, problems: [words] });
});

test('config check reports a missing key, and refuses an invalid one', async () => {
  const file = path.join(folder, 'wallets.json');
  const network = {
    network: 'eip155:8453',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: `0x${'cafe'.repeat(10)}`,
    rpcUrls: ['https://one.example'],
    feePayerKeyEnv: 'PAYER_KEY',
  };
  writeFileSync(file, JSON.stringify({ x402: { networks: [network] } }));
  const missing = await runFarebox(['config', 'check'], { FAREBOX_CONFIG: file }, folder);
  expect(missing.code).toBe(0);
  expect(missing.stdout).toContain('PAYER_KEY');
  const given = { FAREBOX_CONFIG: file, PAYER_KEY: 'half a key' };
  const wrong = await runFarebox(['config', 'check'], given, folder);
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toContain('environment: PAYER_KEY holds no such key');
  expect(wrong.stderr).not.toContain('half a key');
});

test('config schema prints the published schema', async () => {
  const { stdout } = await runFarebox(['config', 'schema'], {}, folder);
  expect(stdout).toBe(readFileSync('farebox.config.schema.json', 'utf8'));
});

test('reports an incomplete dev.json with a message', async () => {
  writeFileSync(path.join(folder, 'dev.json'), '{"baseUrl":');
  const { code, stderr } = await runFarebox(['accounts', 'list'], { FAREBOX_DATA: folder }, folder);
  expect(code).toBe(2);
  expect(stderr).toContain('dev.json: cannot be read; it is written by npm start');
  rmSync(path.join(folder, 'dev.json'));
});
