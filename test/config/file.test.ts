import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILT_IN_MODELS } from '../../domain/catalogue/catalogue.ts';
import { type Config, loadConfig } from '../../infra/config/config.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE, messageOf } from './environments.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'farebox config '));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Key for the Solana network of the example. */
const PAYER = { SOLANA_FEE_PAYER: JSON.stringify([...Array(64).keys()]) };

let files = 0;
function load(content: unknown, variables: Record<string, string> = {}): Config {
  files += 1;
  const file = path.join(folder, `${files}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return loadConfig(PROVIDERS, { ...COMPLETE, ...variables, FAREBOX_CONFIG: file });
}

const SPEC = {
  name: 'Deep voice',
  voice_changer: true,
  accepted_audio_formats: ['mp3', 'wav'],
  max_source_audio_duration_seconds: 120,
  default_voice: 'alto',
  pricing: { durations: { '120': { usd: 0.2, diem: 0.3 }, '60': { usd: 0.1, diem: 0.15 } } },
};
const MODEL = { id: 'deep', type: 'music', provider: 'local', privacy: 'private', spec: SPEC };
const JUDGE = {
  ...{ id: 'judge', type: 'decision', provider: 'simulator', privacy: 'private' },
  spec: { name: 'Judge', pricing: { input: { usd: 1, diem: 1 }, output: { usd: 0, diem: 0 } } },
};

function withSpec(spec: Record<string, unknown>) {
  return { models: [{ ...MODEL, spec: { ...SPEC, ...spec } }] };
}

describe('the configuration file', () => {
  test.each(['example1.json', 'example2.json'])('%s of the documentation is valid', (name) => {
    const FAREBOX_CONFIG = `test/fixtures/config/${name}`;
    const config = loadConfig(PROVIDERS, { ...COMPLETE, ...PAYER, FAREBOX_CONFIG });
    const built = new Set(BUILT_IN_MODELS.map((model) => model.id));
    expect(config.models.filter((model) => !built.has(model.id)).map((model) => model.id)).toEqual(
      name === 'example1.json' ? ['mock'] : ['flaky-voice', 'flaky-video'],
    );
  });

  test('extends the defaults: the built-in models and providers stay', () => {
    const config = loadConfig(PROVIDERS, {
      ...COMPLETE,
      ...PAYER,
      FAREBOX_CONFIG: 'test/fixtures/config/example2.json',
    });
    expect(config.models.map((model) => model.id)).toEqual([
      ...BUILT_IN_MODELS.map((model) => model.id),
      'flaky-voice',
      'flaky-video',
    ]);
    expect(Object.keys(config.providers)).toEqual([
      'local',
      'simulator',
      'elevenlabs',
      'ollama',
      'claude',
      'llm-pool',
      'flaky',
    ]);
    expect(config.providers.flaky).toEqual({
      kind: 'simulator',
      latencyMs: 200,
      outcome: 'done',
      faults: [{ at: 'submit', kind: 'reply-lost', every: 10 }],
      lookup: true,
      synchronous: false,
      models: {},
    });
  });

  test('turns a voice changer into a model of the catalogue, with prices in nano units and sorted tiers', () => {
    const model = load({ models: [MODEL] }).models.find((entry) => entry.id === 'deep');
    expect(model).toMatchObject({
      kind: 'voice-changer',
      upstreamModel: 'deep',
      voices: ['alto'],
      defaultVoice: 'alto',
      supportsCustomVoiceId: false,
      supportsSeed: false,
      durations: [
        { ceilingSeconds: 60, price: { usd: 100_000_000n, diem: 150_000_000n } },
        { ceilingSeconds: 120, price: { usd: 200_000_000n, diem: 300_000_000n } },
      ],
    });
  });

  test('replaces a built-in model by one with the same id', () => {
    const config = load({ models: [{ ...MODEL, id: 'local-voice-changer' }] });
    const same = config.models.filter((model) => model.id === 'local-voice-changer');
    expect(same.map((model) => model.name)).toEqual(['Deep voice']);
  });

  test('resolves a relative path from its own folder, not from the working folder', () => {
    writeFileSync(path.join(folder, 'characters.json'), '[]');
    const config = load({
      catalogue: { charactersFile: './characters.json' },
      providers: { sim: { kind: 'simulator', stateFolder: 'state' } },
    });
    expect(config.catalogue.charactersFile).toBe(path.join(folder, 'characters.json'));
    expect(config.providers.sim).toMatchObject({ stateFolder: path.join(folder, 'state') });
  });

  test('may name its own schema for editors', () => {
    expect(() => load({ $schema: './farebox.config.schema.json' })).not.toThrow();
  });

  test('may be empty, and may start with a byte order mark', () => {
    expect(load({}).media.retentionHours).toBe(24);
    expect(load('\uFEFF{"media":{"retentionHours":0.01}}').media.retentionHours).toBe(0.01);
  });
});

describe('the search for an Ollama', () => {
  const HOST = { OLLAMA_HOST: '127.0.0.1:1234' };
  test.each<[object, Record<string, string>, string | undefined]>([
    [{}, HOST, 'http://127.0.0.1:1234'],
    [{ ollama: { find: false } }, HOST, undefined],
    [{ ollama: { find: true } }, {}, 'http://127.0.0.1:11434'],
    [{ providers: { ollama: { kind: 'openai', baseUrl: 'http://10.0.0.7/v1' } } }, HOST, undefined],
  ])('%j with %j: %s', (content, variables, address) => {
    expect(load(content, variables).ollamaAddress).toBe(address);
  });

  test('is not needed for a model of the file that names its entry', () => {
    const pricing = { input: { usd: 1, diem: 1 }, output: { usd: 1, diem: 1 } };
    const spec = { name: 'Llama', availableContextTokens: 8_192, pricing };
    const entry = { id: 'llama3.2:latest', type: 'text', provider: 'ollama', privacy: 'private', spec };
    expect(load({ models: [entry] }).modelCatalogue.byId.get('llama3.2:latest')?.provider).toBe('ollama');
  });
});

describe('errors of a configuration file', () => {
  test.each<[unknown, string]>([
    [{ modles: [] }, 'modles: found an unknown key, allowed: only $schema, brand, providers, models'],
    [{ models: {} }, 'models: found an object, allowed: a list'],
    [[], '(the whole file): found a list of 0, allowed: an object'],
    [{ brand: { name: 'Acme!' } }, 'brand.name: found "Acme!", allowed: a word'],
    [{ media: { retentionHours: 0 } }, 'media.retentionHours: found 0, allowed: more than 0'],
    [{ media: { retentionHours: '24' } }, 'media.retentionHours: found "24", allowed: a number'],
    [
      { fetch: { allowPrivateHosts: ['10.0.0.1'] } },
      'fetch.allowPrivateHosts[0]: found "10.0.0.1", allowed: host:port',
    ],
    [{ fetch: { allowPrivateHosts: ['a:99999'] } }, 'found "a:99999", allowed: host:port with a port from 1'],
    ...[
      'https://app.example/',
      'https://App.example',
      'https://app.example:443',
      'app.example',
      'null',
      'app://x/y',
    ].map((origin): [unknown, string] => [
      { cors: { origins: [origin] } },
      `cors.origins[0]: found ${JSON.stringify(origin)}, allowed: an origin such as "https://app.example"`,
    ]),
    [{ jobs: { pollFirstMs: 9000, pollLongestMs: 10 } }, 'jobs.pollLongestMs: found 10, allowed: at least pollFirstMs'],
    [
      { limits: { overrides: { a: { requestsPerMinute: -1 } } } },
      'limits.overrides.a.requestsPerMinute: found -1, allowed: at least 0',
    ],
    [
      { providers: { p: { kind: 'opneai' } } },
      'providers.p.kind: found "opneai", allowed: "openai", "anthropic", "elevenlabs"',
    ],
    [{ providers: { p: {} } }, 'providers.p.kind: found nothing, allowed: "openai"'],
    [{ providers: { 'a b': { kind: 'local' } } }, 'providers["a b"]: found the key "a b", allowed: a name of 1 to 64'],
    [
      { providers: { p: { kind: 'local', apiKeyEnv: 'X' } } },
      'providers.p.apiKeyEnv: found an unknown key, allowed: only kind',
    ],
    [
      { providers: { p: { kind: 'openai', baseUrl: 'file:///etc/passwd' } } },
      'providers.p.baseUrl: found "file:///etc/passwd", allowed: an http or https URL',
    ],
    [
      { providers: { p: { kind: 'openai', baseUrl: 'http://a', upstreams: [{ baseUrl: 'http://b' }] } } },
      'providers.p.upstreams: found a list of 1, allowed: either "baseUrl" or "upstreams"',
    ],
    [
      { providers: { p: { kind: 'simulator', outcome: 'maybe' } } },
      'providers.p.outcome: found "maybe", allowed: "done", "refused"',
    ],
    [{ models: [{ ...MODEL, type: 'voice' }] }, 'models[0].type: found "voice", allowed: "text", "embedding"'],
    [
      { models: [{ ...MODEL, provider: 'nobody' }] },
      'models[0].provider: found "nobody", allowed: one of local, simulator, elevenlabs',
    ],
    [{ models: [{ ...MODEL, provider: 'toString' }] }, 'models[0].provider: found "toString", allowed: one of local'],
    [
      { models: [{ ...JUDGE, evaluation: { method: 'guess' } }] },
      'models[0].evaluation.method: found "guess", allowed: "logprobs", "sampling"',
    ],
    [
      { models: [{ ...JUDGE, evaluation: { samples: 51 } }] },
      'models[0].evaluation.samples: found 51, allowed: at most 50',
    ],
    [
      { models: [{ ...JUDGE, evaluation: { topLogprobs: 4 } }] },
      'models[0].evaluation.topLogprobs: found 4, allowed: at least 5',
    ],
    [
      {
        models: [{ ...JUDGE, provider: 'c', evaluation: { method: 'logprobs' } }],
        providers: { c: { kind: 'anthropic' } },
      },
      'models[0].evaluation.method: found "logprobs", allowed: "sampling": a provider of kind "anthropic"',
    ],
    [{ models: [MODEL, MODEL] }, 'models[1].id: found "deep", which models[0] has already, allowed: an id of its own'],
    [
      { models: [{ ...MODEL, privacy: undefined }] },
      'models[0].privacy: found nothing, allowed: "private", "anonymized"',
    ],
    [{ models: [{ ...MODEL, id: '../etc' }] }, 'models[0].id: found "../etc", allowed: an id'],
    [
      withSpec({ accepted_audio_formats: ['mp3', 'wma'] }),
      'models[0].spec.accepted_audio_formats[1]: found "wma", allowed: "mp3", "wav"',
    ],
    [withSpec({ voices: ['bass'] }), 'models[0].spec.default_voice: found "alto", allowed: one of the voices listed'],
    [
      withSpec({ pricing: { durations: { '90': { usd: 1, diem: 1 } } } }),
      'models[0].spec.pricing.durations["90"]: found the key "90", allowed: whole minutes',
    ],
    [
      withSpec({ pricing: { durations: {} } }),
      'models[0].spec.pricing.durations: found an object, allowed: at least one tier',
    ],
    [
      withSpec({ pricing: { durations: { '60': { usd: 1 } } } }),
      'models[0].spec.pricing.durations["60"].diem: found nothing, allowed: a number',
    ],
    [
      withSpec({ pricing: { durations: { '60': { usd: -1, diem: 1 } } } }),
      'durations["60"].usd: found -1, allowed: at least 0',
    ],
    [
      withSpec({ pricing: { durations: { '60': { usd: 1e-10, diem: 1 } } } }),
      'durations["60"].usd: found 1e-10, allowed: an amount with at most 9 decimals',
    ],
    [withSpec({ speed: 2 }), 'models[0].spec.speed: found an unknown key'],
    [
      withSpec({ default_voice: 'ghost' }),
      'models[0].spec.default_voice: found "ghost", allowed: for this provider bass, baritone',
    ],
    [
      withSpec({ privacy: 'anonymized' }),
      'models[0].spec.privacy: found "anonymized", allowed: the same as models[0].privacy',
    ],
    [
      { models: [{ ...MODEL, aliases: ['gpt-4o', 'tts-kokoro'] }] },
      'models[0].aliases[1]: found "tts-kokoro", which is the id of a model, allowed: a name that no other',
    ],
    [
      {
        models: [
          { ...MODEL, aliases: ['mine'] },
          { ...MODEL, id: 'deeper', aliases: ['mine'] },
        ],
      },
      'models[1].aliases[0]: found "mine", which models[0] has already',
    ],
    [
      withSpec({
        deprecation: {
          autoRemap: true,
          date: '2027-01-01',
          removesAt: '2027-02-01',
          replacementModelId: 'no',
        },
      }),
      'models[0].spec.deprecation.replacementModelId: found "no", allowed: the id of another model',
    ],
    [
      { models: [{ ...MODEL, provider: 'p' }], providers: { p: { kind: 'openai' } } },
      'models[0].provider: found "p", of kind "openai", allowed: for a voice changer',
    ],
  ])('%j', (content, expected) => {
    expect(messageOf(() => load(content))).toContain(expected);
  });

  test('are all listed, up to twenty, with the file named once', () => {
    const content = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x${index}`, 1]));
    const lines = messageOf(() => load(content)).split('\n');
    expect(lines).toHaveLength(22);
    expect(lines[0]).toContain(folder);
    expect(lines.at(-1)).toContain('and 10 more');
  });

  test('do not print a secret written into the file', () => {
    const message = messageOf(() => load({ providers: { p: { kind: 'openai', apiKeyEnv: 'sk-live-0123456789' } } }));
    expect(message).toContain('providers.p.apiKeyEnv: found text of 18 characters (not shown), allowed: the name of');
    expect(message).not.toContain('sk-live');
  });

  test('include a search engine other than Brave or a SearXNG with a URL', () => {
    expect(load({ search: { kind: 'brave', apiKeyEnv: 'KEY' } }).search).toEqual({
      kind: 'brave',
      apiKeyEnv: 'KEY',
    });
    expect(messageOf(() => load({ search: { kind: 'searxng' } }))).toContain('search.baseUrl');
    expect(messageOf(() => load({ search: { kind: 'other' } }))).toContain('search.kind');
  });

  test('do not print a password in a URL', () => {
    const message = messageOf(() => load({ search: { kind: 'searxng', baseUrl: 'http://u:pass-word@host/' } }));
    expect(message).toContain('search.baseUrl: found text of 24 characters (not shown), allowed: an http or https URL');
    expect(message).not.toContain('pass-word');
  });

  test('show the place of broken JSON, not its content', () => {
    const message = messageOf(() => load('{\n  "brand": {"name": "hidden-content",,}\n}'));
    expect(message).toMatch(/not valid JSON at line 2, column \d+$/);
    expect(message).not.toContain('hidden-content');
  });

  test('include a missing named file, but not a missing default file', () => {
    const file = path.join(folder, 'missing.json');
    expect(messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file }))).toContain(
      `${file}: cannot be read (ENOENT)`,
    );
    expect(() => loadConfig(PROVIDERS, COMPLETE)).not.toThrow();
  });

  test('include a folder in place of the file', () => {
    const file = path.join(folder, 'folder.json');
    mkdirSync(file);
    expect(messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file }))).toContain(
      'cannot be read (EISDIR)',
    );
  });

  test('include a key named like a property of every object as an unknown key', () => {
    const message = messageOf(() => checkConfiguration(PROVIDERS, JSON.parse('{"constructor": 1}'), 'file'));
    expect(message).toContain('constructor: found an unknown key');
  });
});

describe('chain nodes', () => {
  const URL_WITH_KEY = 'https://node.example/v2/very-secret-key-of-ours';
  const withNetwork = (slug: string, network: object) => ({ rpc: { networks: { [slug]: network } } });

  test('are URLs, or objects with their own key and weight', () => {
    const endpoints = [URL_WITH_KEY, { url: 'https://b.example/{key}', apiKeyEnv: 'NODE_KEY', weight: 3 }];
    const settings = { endpoints, timeouts: { firstByteMs: 5_000 } };
    expect(load(withNetwork('base-mainnet', settings)).rpc.networks['base-mainnet']).toEqual(settings);
  });

  test('are refused for unknown networks', () => {
    const message = messageOf(() => load(withNetwork('base-main', { endpoints: [URL_WITH_KEY] })));
    expect(message).toContain('rpc.networks.base-main: found an unknown network, allowed: one of arbitrum-mainnet');
    expect(message).not.toContain('very-secret');
  });

  test('need a key if their URL has a placeholder', () => {
    const message = messageOf(() => load(withNetwork('base-mainnet', { endpoints: ['https://node.example/{key}'] })));
    expect(message).toContain('rpc.networks.base-mainnet.endpoints[0]: found a URL with {key} and no apiKeyEnv');
  });

  test('are not printed when they are invalid', () => {
    const secret = { endpoints: [{ url: 'ftp://node.example/very-secret-key-of-ours' }] };
    expect(messageOf(() => load(withNetwork('base-mainnet', secret)))).not.toContain('very-secret');
  });
});
