/**
 * A new provider kind needs a folder and one registry line. Adds the example of docs/add-a-provider.md to a copy of
 * providers/ and serves it with a copy of the API; all other files are the repository's own.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { configurationJsonSchema } from '../../infra/config/schema/file.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import type { TestApi } from '../api/startApi.ts';
import { messageOf } from '../config/environments.ts';
import { createWorld } from '../harness/services.ts';
import { ROOT } from '../harness/spawn.ts';
import { type OpenAiStub, startOpenAiStub } from '../stubs/openai.ts';

/** Floors that import no adapter, and the installed packages. */
const UNCHANGED = ['domain', 'engines', 'infra', 'workflows', 'node_modules', 'test/harness'];
/** Folders that import the copy of providers/. */
const COPIED = ['providers', 'api', 'test/api/startApi.ts'];

let root: string;
let stub: OpenAiStub;
let api: TestApi;
/** Registry of the copy. */
let kinds: typeof PROVIDERS;

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), 'farebox-added-'));
  mkdirSync(path.join(root, 'test/api'), { recursive: true });
  for (const name of UNCHANGED) symlinkSync(path.join(ROOT, name), path.join(root, name), 'dir');
  for (const name of COPIED) cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  addExample();
  ({ PROVIDERS: kinds } = await load<{ PROVIDERS: typeof PROVIDERS }>('providers/registry.ts'));
  stub = await startOpenAiStub();
  const { startApi } = await load<typeof import('../api/startApi.ts')>('test/api/startApi.ts');
  const { environment } = await createWorld();
  const FAREBOX_CONFIG = path.join(root, 'farebox.config.json');
  writeFileSync(FAREBOX_CONFIG, JSON.stringify(configuration('v1')));
  api = await startApi({ environment: { ...environment, FAREBOX_CONFIG, PARROT_API_KEY: 'stub-key' } });
});

afterAll(async () => {
  await api?.stop();
  await stub?.close();
  rmSync(root, { recursive: true, force: true });
});

/** The page's first example becomes the new file, its second the new line of the registry. */
function addExample(): void {
  const page = readFileSync(path.join(ROOT, 'docs/add-a-provider.md'), 'utf8');
  const [adapter = '', line = ''] = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
  expect(line.trim().split('\n')).toHaveLength(1);
  mkdirSync(path.join(root, 'providers/parrot'));
  writeFileSync(path.join(root, 'providers/parrot/index.ts'), adapter);
  const registry = path.join(root, 'providers/registry.ts');
  const before = readFileSync(registry, 'utf8');
  const after = before.replace(/\n\];\n$/, `\n  ${line.trim()}\n];\n`);
  expect(after).not.toBe(before);
  writeFileSync(registry, after);
}

async function load<Module>(file: string): Promise<Module> {
  return (await import(pathToFileURL(path.join(root, file)).href)) as Module;
}

function configuration(version: string) {
  const { origin } = new URL(stub.baseUrl);
  const price = { usd: 1, diem: 1 };
  const spec = { name: 'Polly', availableContextTokens: 8_192, pricing: { input: price, output: price } };
  return {
    providers: { birds: { kind: 'parrot', baseUrl: origin, allowPrivateNetwork: true, version } },
    models: [
      {
        ...{ id: 'polly', type: 'text', provider: 'birds', privacy: 'private', upstreamModel: 'gpt-stub' },
        spec,
      },
    ],
  };
}

it('serves a chat through the added kind, with its key and its setting', async () => {
  stub.next = [{ tokens: ['Polly', ' wants', ' a', ' cracker'] }];
  const { secret: key } = await api.fundedKey('INFERENCE');
  const response = await api.call('/chat/completions', {
    ...{ method: 'POST', key, headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ model: 'polly', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const answer = (await response.json()) as { choices?: { message: { content: string } }[] };
  expect([response.status, answer.choices?.[0]?.message.content]).toEqual([200, 'Polly wants a cracker']);
  const [received, ...others] = stub.received;
  expect(received?.path).toBe('/v1/chat/completions');
  expect(received?.headers.authorization).toBe('Bearer stub-key');
  expect(others).toEqual([]);
});

it('lists the models of the added kind as online', async () => {
  const { secret: key } = await api.newKey('INFERENCE');
  const response = await api.call('/models?type=text', { key });
  const { data } = (await response.json()) as { data: { id: string; model_spec: { offline: boolean } }[] };
  expect(data.find(({ id }) => id === 'polly')?.model_spec.offline).toBe(false);
});

it('validates the settings of the added kind', () => {
  expect(() => checkConfiguration(kinds, configuration('v2'), 'file')).not.toThrow();
  expect(messageOf(() => checkConfiguration(kinds, configuration('v9'), 'file'))).toContain(
    'providers.birds.version: found "v9", allowed: "v1", "v2"',
  );
  const unknown = { providers: { birds: { ...configuration('v1').providers.birds, wings: 2 } } };
  expect(messageOf(() => checkConfiguration(kinds, unknown, 'file'))).toContain(
    'providers.birds.wings: found an unknown key, allowed: only kind',
  );
});

it('includes the added kind in the published schema of the copy only', () => {
  expect(configurationJsonSchema(kinds)).toContain('"parrot"');
  expect(kinds.map(({ kind }) => kind)).toEqual([...PROVIDERS.map(({ kind }) => kind), 'parrot']);
  expect(messageOf(() => checkConfiguration(PROVIDERS, configuration('v1'), 'file'))).toContain(
    'providers.birds.kind: found "parrot", allowed: "openai", "anthropic"',
  );
});
