import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { loadConfig } from '../../infra/config/config.ts';
import { REQUIRED_VARIABLES, readEnvironment, secretFilePaths } from '../../infra/config/environment.ts';
import { readOperatorEnvironment } from '../../infra/config/operator.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE, messageOf } from './environments.ts';

const NO_DATABASE = { DATABASE_URL: undefined };

describe('the environment', () => {
  test('is sufficient: every other setting has its documented default', () => {
    const config = loadConfig(PROVIDERS, COMPLETE);
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataFolder: path.resolve('.farebox'),
      publicUrl: 'http://127.0.0.1:8080',
      logLevel: 'info',
      databaseUrl: COMPLETE.DATABASE_URL,
      redisUrl: 'redis://127.0.0.1:6379',
      s3: {
        endpoint: 'http://127.0.0.1:9000',
        region: 'us-east-1',
        bucket: 'farebox-media',
        accessKeyId: 'access',
        secretAccessKey: 'secret-of-the-bucket',
      },
      temporal: { address: '127.0.0.1:7233', namespace: 'default' },
      ffmpegPath: 'ffmpeg',
      ffprobePath: 'ffprobe',
      workerQueues: ['jobs', 'media', 'providers', 'payments', 'webhooks'],
      brand: { name: 'service', aliases: [], systemPrompt: '' },
      fetch: { allowPrivateHosts: [] },
      media: { retentionHours: 24 },
      catalogue: { openWithoutKey: false },
      cors: { origins: ['*'] },
    });
    expect(config).not.toHaveProperty('otlpEndpoint');
    expect(config).not.toHaveProperty('testPoint');
  });

  test.each(REQUIRED_VARIABLES)('is refused without %s, and the error names it', (name) => {
    const { [name]: _, ...rest } = COMPLETE;
    expect(messageOf(() => loadConfig(PROVIDERS, rest))).toContain(`${name} is not set`);
    expect(messageOf(() => loadConfig(PROVIDERS, { ...rest, [name]: '  ' }))).toContain(`${name} is not set`);
  });

  test('is refused with all missing variables at once', () => {
    const message = messageOf(() => loadConfig(PROVIDERS, {}));
    for (const name of REQUIRED_VARIABLES) expect(message).toContain(name);
  });

  test.each([
    ['PORT', '80a', 'found "80a", allowed: a port from 0 to 65535'],
    ['PORT', '65536', 'found "65536", allowed: a port from 0 to 65535'],
    ['PORT', '-1', 'found "-1", allowed: a port'],
    ['FAREBOX_METRICS_PORT', '65536', 'found "65536", allowed: a port from 0 to 65535'],
    ['FAREBOX_DRAIN_SECONDS', '0', 'found "0", allowed: seconds from 1 to 3600'],
    ['FAREBOX_DRAIN_SECONDS', '3601', 'found "3601", allowed: seconds from 1 to 3600'],
    ['FAREBOX_PROVIDER_SLOTS', '0', 'found "0", allowed: a count from 1 to 9999'],
    ['LOG_LEVEL', 'loud', 'found "loud", allowed: "fatal", "error", "warn"'],
    ['FAREBOX_WORKER_QUEUES', 'jobs,medai', 'found "jobs,medai", allowed: one or more of jobs, media, providers'],
    ['S3_BUCKET', 'Bad_Bucket', 'found "Bad_Bucket", allowed: a bucket name'],
    ['TEMPORAL_ADDRESS', 'http://temporal', 'found "http://temporal", allowed: host:port'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', 'found "collector", allowed: a URL'],
    ['FAREBOX_BUILD_ID', 'a b', 'found "a b", allowed: 1 to 64'],
  ])('is refused with %s=%s, with what was found and what is allowed', (name, value, expected) => {
    expect(messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, [name]: value }))).toContain(`${name}: ${expected}`);
  });

  test('sets the number of concurrent steps per queue of a worker', () => {
    const slots = { FAREBOX_JOBS_SLOTS: '5', FAREBOX_PROVIDER_SLOTS: '20' };
    expect(loadConfig(PROVIDERS, { ...COMPLETE, ...slots }).workerSlots).toEqual({ jobs: 5, providers: 20 });
    expect(loadConfig(PROVIDERS, COMPLETE).workerSlots).toEqual({});
  });

  test.each([
    [undefined, false],
    ['https://api.example.com', true],
    ['https://api.example.com/below', true],
    ['http://api.example.com', false],
    ['https://localhost', false],
    ['https://127.0.0.1:8443', false],
    ['https://[::1]', false],
  ])('tells whether services can reach the public URL %s: %s', (FAREBOX_PUBLIC_URL, expected) => {
    expect(loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_PUBLIC_URL }).isPublic).toBe(expected);
  });

  test.each(['DATABASE_URL', 'REDIS_URL', 'S3_ENDPOINT'])('refuses a wrong %s without printing it', (name) => {
    const message = messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, [name]: 'ftp://user:hidden-pass@host/x' }));
    expect(message).toContain(`${name}: found text of 29 characters (not shown), allowed: a URL that starts with`);
    expect(message).not.toContain('hidden-pass');
  });

  test('treats an empty variable as unset, as compose files pass it', () => {
    expect(readEnvironment({ PORT: '', LOG_LEVEL: ' ', FAREBOX_CONFIG: '' })).toMatchObject({
      PORT: 8080,
      LOG_LEVEL: 'info',
    });
  });

  test('selects queues, each once, in a fixed order', () => {
    const config = loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_WORKER_QUEUES: ' providers, jobs,jobs' });
    expect(config.workerQueues).toEqual(['jobs', 'providers']);
  });

  test('sets the metrics port of a worker, with precedence over the file; default: none', () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'farebox-config-')), 'farebox.config.json');
    writeFileSync(file, JSON.stringify({ metrics: { workerPort: 9464 } }));
    const portOf = (more: object) => loadConfig(PROVIDERS, { ...COMPLETE, ...more }).workerMetricsPort;
    expect(portOf({})).toBeUndefined();
    expect(portOf({ FAREBOX_CONFIG: file })).toBe(9464);
    expect(portOf({ FAREBOX_CONFIG: file, FAREBOX_METRICS_PORT: '0' })).toBe(0);
    rmSync(path.dirname(file), { recursive: true });
  });

  test.each([
    [{ HOST: '0.0.0.0', PORT: '80' }, 'http://127.0.0.1:80'],
    [{ HOST: '::' }, 'http://[::1]:8080'],
    [{ FAREBOX_PUBLIC_URL: 'https://pay.example//' }, 'https://pay.example'],
  ])('with %o sets the public URL to %s', (environment, expected) => {
    expect(loadConfig(PROVIDERS, { ...COMPLETE, ...environment }).publicUrl).toBe(expected);
  });

  describe('a secret in a file', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'farebox-secrets-'));
    const fileWith = (name: string, content: string) => {
      const file = path.join(folder, name);
      writeFileSync(file, content);
      return file;
    };
    afterAll(() => rmSync(folder, { recursive: true }));

    test.each([
      ['DATABASE_URL', 'databaseUrl', 'postgres://in:file@db/farebox'],
      ['REDIS_URL', 'redisUrl', 'redis://:infile@redis:6379'],
      ['FAREBOX_METRICS_TOKEN', 'metricsToken', 'a-token-of-20-chars.'],
    ] as const)('is read from the file that %s_FILE names, without the line end', (name, field, value) => {
      const { [name]: _value, ...others } = COMPLETE as Record<string, string>;
      const config = loadConfig(PROVIDERS, { ...others, [`${name}_FILE`]: fileWith(name, `${value}\n`) });
      expect(config[field]).toBe(value);
    });

    test('is read once, for S3 and for the variables that the configuration names', () => {
      const { S3_SECRET_ACCESS_KEY: _value, ...others } = COMPLETE as Record<string, string>;
      const file = fileWith('s3', 'from-a-file');
      const config = loadConfig(PROVIDERS, {
        ...others,
        S3_SECRET_ACCESS_KEY_FILE: file,
        FAL_KEY_FILE: file,
      });
      expect(config.s3.secretAccessKey).toBe('from-a-file');
      expect(config.secret('FAL_KEY')).toBe('from-a-file');
      writeFileSync(file, 'changed');
      expect(config.secret('FAL_KEY')).toBe('from-a-file');
    });

    test.each([
      ['both', () => ({ DATABASE_URL_FILE: fileWith('both', 'postgres://hidden@db/x') }), 'are both set'],
      [
        'a file that is not there',
        () => ({ ...NO_DATABASE, DATABASE_URL_FILE: '/no/such/file' }),
        'names no such file',
      ],
      ['an empty file', () => ({ ...NO_DATABASE, DATABASE_URL_FILE: fileWith('empty', ' \n') }), 'names no such file'],
      ['a folder', () => ({ ...NO_DATABASE, DATABASE_URL_FILE: folder }), 'names no such file'],
      [
        'a file above 64 KiB',
        () => ({ ...NO_DATABASE, DATABASE_URL_FILE: fileWith('large', 'x'.repeat(65_537)) }),
        'names no such file',
      ],
    ])('is refused without its content for %s', (_name, more, words) => {
      const message = messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, ...more() }));
      expect(message).toContain('DATABASE_URL_FILE');
      expect(message).toContain(words);
      expect(message).not.toContain('hidden');
    });

    test('takes precedence over the dev.json of a running npm start for an operator', () => {
      const s3 = {
        endpoint: 'http://s3',
        region: 'r',
        bucket: 'media',
        accessKeyId: 'a',
        secretAccessKey: 'b',
      };
      const dev = {
        ...{
          baseUrl: 'http://b',
          accountId: 'account',
          databaseUrl: 'postgres://db/x',
          redisUrl: 'redis://r',
        },
        ...{ temporal: { address: 'temporal:7233', namespace: 'n' }, s3 },
      };
      writeFileSync(path.join(folder, 'dev.json'), JSON.stringify(dev));
      const source = { FAREBOX_DATA: folder, S3_SECRET_ACCESS_KEY_FILE: fileWith('s3', 'from-a-file') };
      const { DATABASE_URL, S3_SECRET_ACCESS_KEY } = readOperatorEnvironment(source);
      expect({ DATABASE_URL, S3_SECRET_ACCESS_KEY }).toEqual({
        ...{ DATABASE_URL: 'postgres://db/x', S3_SECRET_ACCESS_KEY: 'from-a-file' },
      });
    });

    test('is listed with every other file that decoders must not read', () => {
      vi.stubEnv('SOME_PROVIDER_KEY_FILE', 'relative/key');
      vi.stubEnv('FAREBOX_CONFIG', '');
      vi.stubEnv('FAREBOX_DEMO_CHAIN', 'chain.json');
      const wanted = ['relative/key', 'farebox.config.json', 'chain.json'].map((file) => path.resolve(file));
      expect(secretFilePaths()).toEqual(expect.arrayContaining(wanted));
      vi.stubEnv('FAREBOX_CONFIG', 'other.json');
      expect(secretFilePaths()).toContain(path.resolve('other.json'));
      vi.unstubAllEnvs();
    });
  });

  test('provides secrets under the names of the configuration, except empty ones', () => {
    const config = loadConfig(PROVIDERS, { ...COMPLETE, MOCK_KEY: 'k', EMPTY_KEY: '' });
    expect(config.secret('MOCK_KEY')).toBe('k');
    expect(config.secret('EMPTY_KEY')).toBeUndefined();
    expect(config.secret('UNSET_KEY')).toBeUndefined();
  });
});
