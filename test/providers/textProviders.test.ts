import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import type { ProviderMeans } from '../../providers/createProviders.ts';
import type { TextProvider } from '../../providers/shared/textProvider.ts';
import type { TextOutcome, TextUpstreams } from '../../providers/shared/upstreams.ts';
import { type OpenAiStub, startOpenAiStub } from '../stubs/openai.ts';
import { chatRequest, context, failureOf } from './chatRequest.ts';
import { openProviders } from './configured.ts';

let stubs: OpenAiStub[];
let opened: Map<string, TextProvider & Partial<Pick<TextUpstreams, 'health'>>>;
let told: [string, TextOutcome['outcome']][];
beforeEach(async () => {
  stubs = await Promise.all([startOpenAiStub(), startOpenAiStub()]);
  opened = new Map();
  told = [];
});
afterEach(async () => {
  await Promise.all([...opened.values(), ...stubs].map((each) => each.close()));
});

function open(providers: Record<string, ProviderSettings>, secrets: Record<string, string> = {}) {
  const observe: ProviderMeans['observe'] = (entry, { outcome }) => told.push([entry, outcome]);
  opened = openProviders(providers, { secrets, observe }).text();
  return opened;
}

it('opens an entry when one of its addresses has its key', () => {
  const entries: Record<string, ProviderSettings> = {
    openai: { kind: 'openai' },
    own: { kind: 'openai', baseUrl: 'http://vllm.internal:8000/v1' },
    keyed: { kind: 'openai', baseUrl: 'http://vllm.internal:8000/v1', apiKeyEnv: 'OWN_KEY' },
    several: {
      kind: 'openai',
      upstreams: [{ baseUrl: 'http://a/v1', apiKeyEnv: 'A' }, { baseUrl: 'http://b/v1' }],
    },
    claude: { kind: 'anthropic' },
    local: { kind: 'local' },
  };
  expect([...open(entries).keys()]).toEqual(['own', 'several', 'local']);
  expect(opened.get('several')?.health?.()).toEqual([{ name: 'b', state: 'closed' }]);
  const secrets = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', OWN_KEY: 'k', A: 'k' };
  expect([...open(entries, secrets).keys()]).toEqual([...['openai', 'own', 'keyed', 'several', 'claude'], 'local']);
  expect(
    opened
      .get('several')
      ?.health?.()
      .map(({ name }) => name),
  ).toEqual(['a A', 'b']);
  expect(opened.get('claude')?.embed).toBeUndefined();
});

it('sends an OpenAI key to no other service', async () => {
  const [stub] = stubs;
  if (stub === undefined) throw new Error('no stub');
  stub.apiKey = undefined;
  const entry = { kind: 'openai', baseUrl: stub.baseUrl, allowPrivateNetwork: true } as const;
  await open({ own: entry }, { OPENAI_API_KEY: 'secret' }).get('own')?.complete?.(chatRequest(), context());
  expect(stub.received[0]?.headers.authorization).toBeUndefined();
});

it('skips an address that fails and reports both attempts', async () => {
  const [broken, whole] = stubs;
  if (broken === undefined || whole === undefined) throw new Error('no stubs');
  broken.otherwise = { status: 503 };
  const upstreams = [
    { baseUrl: broken.baseUrl, weight: 1_000 },
    { baseUrl: whole.baseUrl, weight: 1 },
  ];
  const entry = { kind: 'openai', apiKeyEnv: 'K', allowPrivateNetwork: true, upstreams } as const;
  const provider = open({ llm: entry }, { K: 'stub-key' }).get('llm');
  for (let at = 0; at < 5; at += 1) await provider?.complete?.(chatRequest(), context());
  expect(whole.received).toHaveLength(5);
  expect(told.filter(([, outcome]) => outcome === 'done')).toHaveLength(5);
  whole.otherwise = { status: 400, body: { error: { message: 'no' } } };
  expect(await failureOf(provider?.complete?.(chatRequest(), context()) ?? Promise.resolve())).toMatchObject({
    words: 'no',
  });
});
