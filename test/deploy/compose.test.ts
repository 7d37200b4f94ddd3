import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { locateParts } from '../../dev/stack/locate.ts';
import { temporalProcess } from '../../dev/stack/parts/temporal.ts';
import { silentProgress } from '../../dev/stack/progress.ts';
import { TASK_QUEUES } from '../../domain/queues.ts';
import { loadConfig } from '../../infra/config/config.ts';
import {
  processEnvironment,
  REQUIRED_VARIABLES,
  readEnvironment,
  VARIABLE_NAMES,
} from '../../infra/config/environment.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { ROOT } from '../harness/spawn.ts';
import { networks, resolve, resolveAll, serviceOf, services, volumes } from './compose.ts';

const OURS = ['migrate', 'api', 'worker', 'media'];
const ONE_SHOT = ['temporal-schema', 'temporal-namespace', 'migrate'];
const LONG_RUNNING = Object.keys(services).filter((name) => !ONE_SHOT.includes(name));

const SECRET_VARIABLES = PROVIDERS.flatMap(({ isBuiltIn, keyVariable }) =>
  isBuiltIn && keyVariable !== undefined ? [keyVariable] : [],
);

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

describe('docker-compose.yml', () => {
  test('has every part, the API and the workers', () => {
    const wanted = ['postgres', 'redis', 's3', 'temporal', 'temporal-ui', 'api', 'worker', 'media', 'migrate'];
    expect(Object.keys(services)).toEqual(expect.arrayContaining(wanted));
  });

  test.each(Object.entries(services))('pins the image of %s', (name, { image }) => {
    if (OURS.includes(name)) expect(resolve(image)).toBe(`farebox:${JSON.parse(read('package.json')).version}`);
    else expect(image).toMatch(/:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$/);
  });

  test.each(LONG_RUNNING)('checks the health of %s and restarts it', (name) => {
    const { healthcheck, restart } = serviceOf(name);
    expect(healthcheck?.test?.length).toBeGreaterThan(1);
    expect(restart).toBe('unless-stopped');
  });

  test.each(ONE_SHOT)('lets %s end by itself and retries it a limited number of times', (name) => {
    expect(serviceOf(name).restart).toMatch(/^on-failure:\d+$/);
  });

  test('starts a dependent service only when its dependency is healthy or done', () => {
    for (const [name, { depends_on }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        const wanted = ONE_SHOT.includes(other) ? 'service_completed_successfully' : 'service_healthy';
        expect(`${name} waits for ${other}: ${condition}`).toBe(`${name} waits for ${other}: ${wanted}`);
        expect(services).toHaveProperty(other);
      }
    }
  });

  test('contains no secret, and no default for one', () => {
    const written = read('docker-compose.yml');
    for (const match of written.matchAll(/^\s+(\w*(?:PASSWORD|PWD|SECRET|API_KEY)\w*): (.*)$/gm)) {
      expect(match[2]).toMatch(/^\$\{[A-Z0-9_]+(:\?set [A-Z0-9_]+|:-)\}$/);
    }
    expect(written.match(/\$\{(POSTGRES_PASSWORD|REDIS_PASSWORD|S3_SECRET_ACCESS_KEY)\}/)).toBeNull();
  });

  test('publishes only the ports of the API and the Temporal UI, by default on the loopback address', () => {
    const published = Object.entries(services).flatMap(([name, { ports }]) =>
      ports.map((port) => `${name} ${resolve(port)}`),
    );
    expect(published.sort()).toEqual(['api 127.0.0.1:8080:8080', 'temporal-ui 127.0.0.1:8233:8080']);
  });

  test('connects parts to a network without internet, and the API and the workers to one with it', () => {
    expect(networks.parts?.internal).toBe(true);
    for (const name of ['postgres', 'redis', 's3', 'temporal']) expect(serviceOf(name).networks).toEqual(['parts']);
    for (const name of OURS) expect(serviceOf(name).networks).toEqual(['parts', 'outside']);
  });

  test('stores durable data on named volumes', () => {
    const used = Object.values(services)
      .flatMap((service) => service.volumes.map((volume) => volume.split(':')[0] ?? ''))
      .filter((source) => /^[a-z]/.test(source));
    expect([...new Set(used)].sort()).toEqual(Object.keys(volumes).sort());
    expect(used).toEqual(expect.arrayContaining(['postgres', 's3-data', 's3-meta']));
  });

  test.each(Object.keys(services))(
    '%s has no privilege that it does not need, and bounds on memory and processes',
    (name) => {
      const { cap_drop, security_opt, mem_limit, pids_limit, privileged } = serviceOf(name);
      expect(cap_drop).toEqual(['ALL']);
      expect(security_opt).toContain('no-new-privileges:true');
      expect(resolve(mem_limit ?? '')).toMatch(/^\d+[mg]$/);
      expect(pids_limit).toBeGreaterThan(0);
      expect(privileged).toBeUndefined();
    },
  );

  test.each(OURS)('lets %s write only to its volume and a temporary folder of limited size', (name) => {
    const { read_only, cap_add, tmpfs } = serviceOf(name);
    expect({ read_only, cap_add }).toEqual({ read_only: true, cap_add: [] });
    expect(tmpfs).toEqual([expect.stringMatching(/^\/tmp:size=\d+m$/)]);
  });

  test('starts Redis with its configuration file and its password, which is on no command line', async () => {
    const { entrypoint = [], command = [], healthcheck } = serviceOf('redis');
    const [port = 0] = await freePorts(1);
    // Compose doubles a dollar sign that is not its own.
    const script = command
      .join('')
      .replaceAll('$$', '$')
      .replace(/\nEND\n/, `\nport ${port}\nbind 127.0.0.1\nEND\n`);
    const { redis } = await locateParts(['redis'], {
      environment: processEnvironment(),
      progress: silentProgress,
    });
    const environment = { PATH: `${path.dirname(redis.path)}:/usr/bin:/bin`, REDIS_PASSWORD: 'pass123' };
    const [shell = '', ...args] = entrypoint;
    const server = spawn(shell, [...args, script], { env: environment, stdio: 'ignore' });
    const options = { port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: null };
    const stranger = new Redis(options).on('error', () => undefined);
    const holder = new Redis({ ...options, password: 'pass123' }).on('error', () => undefined);
    try {
      await expect(stranger.ping()).rejects.toThrow('NOAUTH');
      expect(await holder.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'volatile-ttl']);
      expect(readFileSync(`/proc/${server.pid}/cmdline`, 'latin1')).not.toContain('pass123');
      expect(healthcheck?.test?.join(' ')).toContain('REDISCLI_AUTH="$$REDIS_PASSWORD"');
    } finally {
      stranger.disconnect();
      holder.disconnect();
      server.kill('SIGKILL');
    }
  });

  test('mounts only files of the repository', () => {
    const mounted = Object.values(services)
      .flatMap((service) => service.volumes.map((volume) => resolve(volume).split(':')[0] ?? ''))
      .filter((source) => source.startsWith('./'));
    expect(mounted.length).toBeGreaterThan(3);
    expect(mounted.filter((source) => !existsSync(path.join(ROOT, source)))).toEqual([]);
  });

  test('allows --scale worker=N: no fixed name and no port on the host', () => {
    expect(serviceOf('worker').container_name).toBeUndefined();
    expect(serviceOf('worker').ports).toEqual([]);
  });
});

describe('the environment in the compose file', () => {
  test.each(OURS)('gives %s only variables that the configuration reads', (name) => {
    const known = [...VARIABLE_NAMES, ...SECRET_VARIABLES] as string[];
    expect(Object.keys(serviceOf(name).environment).filter((each) => !known.includes(each))).toEqual([]);
  });

  test.each(OURS)('gives %s every required variable', (name) => {
    expect(Object.keys(serviceOf(name).environment)).toEqual(expect.arrayContaining([...REQUIRED_VARIABLES]));
  });

  test.each([
    ['api', ['jobs', 'media', 'providers', 'payments', 'webhooks']],
    ['worker', ['jobs', 'providers', 'payments', 'webhooks']],
    ['media', ['media']],
  ])('is valid for %s', (name, queues) => {
    const environment = resolveAll(serviceOf(name).environment);
    const FAREBOX_CONFIG = path.join(ROOT, 'infra/deploy/config/farebox.config.json');
    const config = loadConfig(PROVIDERS, { ...environment, FAREBOX_CONFIG });
    expect(config.databaseUrl).toBe('postgres://farebox:test-postgres_password@postgres:5432/farebox');
    expect(config.redisUrl).toBe('redis://:test-redis_password@redis:6379');
    expect(config.workerQueues).toEqual(queues);
  });

  test('gives the media container no provider key, and all other queues to the other workers', () => {
    const given = Object.keys(serviceOf('media').environment);
    expect(given.filter((name) => SECRET_VARIABLES.includes(name))).toEqual([]);
    expect(Object.keys(serviceOf('worker').environment)).toEqual(expect.arrayContaining(SECRET_VARIABLES));
    const served = ['worker', 'media'].flatMap(
      (name) => readEnvironment(resolveAll(serviceOf(name).environment)).FAREBOX_WORKER_QUEUES,
    );
    expect(served.sort()).toEqual([...TASK_QUEUES].sort());
  });

  test('names services of the file and their ports', () => {
    const environment = readEnvironment(resolveAll(serviceOf('api').environment));
    const s3 = serviceOf('s3').environment;
    const temporal = serviceOf('temporal').environment;
    expect(new URL(environment.DATABASE_URL ?? '').host).toBe('postgres:5432');
    expect(new URL(environment.REDIS_URL ?? '').host).toBe('redis:6379');
    expect(environment.S3_ENDPOINT).toBe(`http://s3${s3.VGW_PORT}`);
    expect(environment.TEMPORAL_ADDRESS).toBe('temporal:7233');
    expect(serviceOf('temporal').healthcheck?.test).toContain('7233');
    expect(resolve(s3.ROOT_ACCESS_KEY ?? '')).toBe(environment.S3_ACCESS_KEY_ID);
    expect(resolve(s3.ROOT_SECRET_KEY ?? '')).toBe(environment.S3_SECRET_ACCESS_KEY);
    expect(resolve(s3.VGW_REGION ?? '')).toBe(environment.S3_REGION);
    expect(temporal.POSTGRES_SEEDS).toBe('postgres');
  });

  test('makes the API listen on the published port that is health-checked', () => {
    const { environment, ports, healthcheck } = serviceOf('api');
    const { HOST, PORT } = readEnvironment(resolveAll(environment));
    expect(HOST).toBe('0.0.0.0');
    expect(PORT).toBe(readEnvironment({}).PORT);
    expect(
      resolve(ports[0] ?? '')
        .split(':')
        .at(-1),
    ).toBe(String(PORT));
    expect(healthcheck?.test?.join(' ')).toContain(`:${PORT}/healthz`);
  });

  test('includes a valid configuration file', () => {
    const file = 'infra/deploy/config/farebox.config.json';
    expect(() => checkConfiguration(PROVIDERS, JSON.parse(read(file)), file)).not.toThrow();
  });

  test.each(OURS)('lets %s run a script of the build', (name) => {
    const script = serviceOf(name).command?.find((word) => word.startsWith('dist/')) ?? '';
    expect(existsSync(path.join(ROOT, script.replace(/^dist\//, '').replace(/\.js$/, '.ts')))).toBe(true);
  });
});

const PROGRAM = { path: '/usr/bin/temporal', origin: 'PATH' };

describe('Temporal', () => {
  test('has the settings of npm start', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'farebox-temporal-'));
    const { args } = temporalProcess({ program: PROGRAM, folder, port: 1 });
    rmSync(folder, { recursive: true });
    const started = args.filter((_value, index) => args[index - 1] === '--dynamic-config-value');
    const deployed = parse(read('infra/deploy/temporal/dynamicconfig.yaml')) as Record<string, { value: unknown }[]>;
    const written = Object.entries(deployed).map(([name, [set]]) => `${name}=${JSON.stringify(set?.value)}`);
    expect(written.sort()).toEqual(started.sort());
  });

  test('has its own databases and its own database user', () => {
    const { environment } = serviceOf('temporal');
    const roles = read('infra/deploy/postgres/roles.sh');
    expect(environment).toMatchObject({ POSTGRES_USER: 'temporal', DBNAME: 'temporal' });
    expect(roles).toContain('create database temporal owner temporal;');
    expect(roles).toContain('create database temporal_visibility owner temporal;');
    expect(serviceOf('temporal-schema').environment).toMatchObject({
      SQL_USER: 'temporal',
      SQL_HOST: 'postgres',
    });
  });
});

describe('the container image', () => {
  const dockerfile = read('infra/deploy/Dockerfile');

  test('is based on pinned Debian images and runs as an ordinary user under an init', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map((match) => match[1]);
    const outside = bases.filter((base) => base !== 'base');
    expect(outside.length).toBeGreaterThan(0);
    for (const base of outside) expect(base).toMatch(/^node:\d+\.\d+\.\d+-bookworm-slim$/);
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toContain('ENTRYPOINT ["tini", "--"]');
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  });

  test('lets its user execute but not read node and the init, so that decoders cannot read their variables', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const chmod = /^.*chmod 0711 (.*)$/m.exec(last)?.[1]?.split(' ') ?? [];
    expect(chmod).toEqual(['/usr/local/bin/node', '/usr/bin/tini']);
    // Done by root, because neither file belongs to the image's user.
    expect(last.indexOf('chmod 0711')).toBeLessThan(last.indexOf('USER node'));
    expect(last).not.toMatch(/chmod (?!0711)|USER (?!node)/);
  });

  test('sets only variables that the configuration reads', () => {
    const block = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)?.[1] ?? '';
    const names = [...block.matchAll(/([A-Z0-9_]+)=/g)].map((match) => match[1] ?? '');
    expect(names).toContain('FAREBOX_DATA');
    expect(names.filter((name) => name !== 'NODE_ENV' && !(VARIABLE_NAMES as string[]).includes(name))).toEqual([]);
  });

  test('contains every folder of the product, but no benches and no test tools', () => {
    const lines = read('.dockerignore').trim().split('\n');
    expect(lines[0]).toBe('*');
    const folders = readdirSync(ROOT, { withFileTypes: true })
      .filter(
        (entry) =>
          entry.isDirectory() && !/^(\.|node_modules$|dist$|coverage$|test$|bench$|examples$|docs$)/.test(entry.name),
      )
      .map((entry) => `!${entry.name}`);
    expect(lines).toEqual(expect.arrayContaining(folders));
    expect(lines).not.toContain('!.env');
    expect(lines.filter((line) => /^!(test|bench)/.test(line))).toEqual([]);
  });
});
