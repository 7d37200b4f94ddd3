/** The decoders' namespaces, tested from inside: probes look for secrets planted where a real process has them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decoderIsolation, reportDecoderIsolation } from '../../../engines/child/isolation.ts';
import { shippedChild } from '../../../engines/child/keptChild.ts';
import { processEnvironment } from '../../../infra/config/environment.ts';
import { ROOT } from '../../harness/spawn.ts';
import { until } from '../../harness/until.ts';

const SECRET = 'canary-7f3a91c2d4';
/** Places that root can write without any capability. */
const OUTSIDE = ['/etc', '/usr', homedir(), '/proc/sys/kernel/core_pattern', '/sys/kernel'];

/** Searches every place that a process of this user could read, and tries to reach the network. */
const PROBE = `
import { accessSync, constants, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
const attempt = (work) => { try { return work(); } catch { return undefined; } };
process.on('message', async ({ files, folders, port, writable, outside, file }) => {
  const found = [];
  const look = (path) => { if (attempt(() => readFileSync(path, 'latin1'))?.includes('${SECRET}')) found.push(path); };
  const processes = readdirSync('/proc').filter((name) => /^\\d+$/.test(name));
  for (const pid of processes) {
    for (const name of ['environ', 'cmdline']) look('/proc/' + pid + '/' + name);
    for (const fd of attempt(() => readdirSync('/proc/' + pid + '/fd')) ?? []) {
      const target = attempt(() => readlinkSync('/proc/' + pid + '/fd/' + fd)) ?? '';
      if (target.startsWith('/') && !target.startsWith('/dev')) look('/proc/' + pid + '/fd/' + fd);
    }
  }
  files.forEach(look);
  const seen = folders.flatMap((folder) => attempt(() => readdirSync(folder)) ?? []);
  const devices = readdirSync('/dev').sort();
  const wrote = attempt(() => (writeFileSync(writable + '/out', 'done'), true)) ?? false;
  const mayWrite = outside.filter((path) => attempt(() => (accessSync(path, constants.W_OK), true)));
  const connected = await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.setTimeout(3000, () => resolve(false));
  });
  process.send({ file, found, seen, devices, wrote, mayWrite, connected });
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
`;

interface ProbeAnswer {
  found: string[];
  seen: string[];
  devices: string[];
  wrote: boolean;
  mayWrite: string[];
  connected: boolean;
}

const SECRET_FILES = ['database-url', 'config.json', 'demo-chain.json'];
let folder: string;
let data: string;
let server: Server;
const parents: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-isolation-'));
  data = join(folder, 'data');
  mkdirSync(join(data, 'tmp'), { recursive: true });
  writeFileSync(join(data, 'dev.json'), SECRET);
  for (const name of SECRET_FILES) writeFileSync(join(folder, name), SECRET);
  writeFileSync(join(folder, 'probe.mjs'), PROBE);
  // Ignores its arguments, as a stand-in for the media program.
  writeFileSync(join(folder, 'sleep.sh'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  server = createServer((_request, response) => response.end('a page')).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  for (const parent of parents) parent.kill('SIGKILL');
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process with the secret in its environment, in each file that a variable names, and in its data folder. */
function startParent(program: string): ChildProcess {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      FAREBOX_DATA: data,
      PROVIDER_KEY: SECRET,
      DATABASE_URL_FILE: join(folder, 'database-url'),
      FAREBOX_CONFIG: join(folder, 'config.json'),
      FAREBOX_DEMO_CHAIN: join(folder, 'demo-chain.json'),
    },
  });
  parents.push(parent);
  return parent;
}

async function probe(): Promise<ProbeAnswer> {
  const keptChild = pathToFileURL(shippedChild('engines/child/keptChild')).href;
  const question = {
    files: [...SECRET_FILES.map((name) => join(folder, name)), join(data, 'dev.json')],
    folders: [data],
    writable: join(data, 'tmp'),
    outside: OUTSIDE,
    port: (server.address() as AddressInfo).port,
    file: 1,
  };
  const parent = startParent(`
    const { startChild } = await import('${keptChild}');
    const plan = { path: ${JSON.stringify(join(folder, 'probe.mjs'))}, heapMb: 64, cpuSeconds: 60, name: 'probe' };
    const { process: child, started } = startChild(plan);
    await started;
    child.once('message', (answer) => process.send(answer));
    child.send(${JSON.stringify(question)});
  `);
  const [answer] = (await once(parent, 'message', { signal: AbortSignal.timeout(30_000) })) as [ProbeAnswer];
  parent.kill('SIGKILL');
  return answer;
}

const isolation = decoderIsolation();
const isFull = isolation.level === 'full';

// On other machines the groups below are skipped, and the report says so.
it.runIf(processEnvironment().CI)('allows all namespaces on the machine that must pass every test', () => {
  expect(isolation).toEqual({ level: 'full', description: expect.any(String) });
});

const ABORT = 'new AbortController().signal';
/** Each kind of child process with a call that starts one. `SLEEP`: the media program runs for ten minutes. */
const CHILDREN: [string, string, string][] = [
  ['inspection', 'engines/media/inspector', "createInspector({ maxChildren: 1 }).inspect('image', '/nowhere')"],
  ['image', 'engines/images/imageWork', "createImageWork({ maxChildren: 1 }).run('measure', { path: '/nowhere' })"],
  ['media', 'engines/media/ffmpeg', `ffmpeg.convert(SLEEP, { signal: ${ABORT}, onProgress() {} })`],
  [
    'document',
    'engines/documents/documentReader',
    "createDocumentReader({ workFolders: FOLDERS }).read({ bytes: Buffer.from('words') })",
  ],
  ['page', 'infra/http/pages/pageReader', 'createPageReader({ allowPrivateHosts: [HOST] }).read(PAGE)'],
  [
    'embedding',
    'engines/text/lexicalEmbedder',
    `createLexicalEmbedder().embed({ inputs: ['words'], dimensions: 8, account: 'a' }, ${ABORT})`,
  ],
];

describe.runIf(isFull)('a decoder child in full isolation', () => {
  it('finds no secret of its parent in any process, descriptor or file', async () => {
    const { found, seen } = await probe();
    expect({ found, seen }).toEqual({ found: [], seen: ['tmp'] });
  });

  it('writes its results into the work folder and nothing outside, and connects to nothing', async () => {
    const { wrote, mayWrite, devices, connected } = await probe();
    expect({ wrote, mayWrite, devices, connected }).toEqual({
      ...{ wrote: true, mayWrite: [], connected: false },
      // Root could read the disk through its device.
      devices: process.getuid?.() === 0 ? ['null'] : expect.any(Array),
    });
    expect(readFileSync(join(data, 'tmp', 'out'), 'utf8')).toBe('done');
  });

  it('has a row below for every kind of child process', () => {
    const plans = ['engines', 'infra', 'providers', 'api', 'workers', 'activities']
      .flatMap((floor) =>
        readdirSync(join(ROOT, floor), { recursive: true, encoding: 'utf8' }).map((name) => join(floor, name)),
      )
      .filter((name) => name.endsWith('.ts') && !name.endsWith('keptChild.ts'))
      .filter((name) => readFileSync(join(ROOT, name), 'utf8').includes('shippedChild('));
    expect(plans.sort()).toEqual(CHILDREN.map(([, module]) => `${module}.ts`).sort());
  });

  it.each(CHILDREN)(
    'runs the %s child and its own children outside the namespaces of the service',
    async (kind, module, call) => {
      const parent = startParent(programOf(module, call));
      const findChildren = () => descendantsOf(parent.pid as number).filter(({ command }) => !isWrapper(command));
      const isThere = (wanted: string) => findChildren().some(({ command }) => command.startsWith(wanted));
      await until('the child runs', () => isThere(`${process.execPath}\0--max-old-space`));
      if (kind === 'media') await until('its program runs', () => isThere('sleep\x00600'));
      for (const { pid } of findChildren()) {
        for (const namespace of ['pid', 'net', 'mnt']) {
          expect(readlinkSync(`/proc/${pid}/ns/${namespace}`)).not.toBe(
            readlinkSync(`/proc/${parent.pid}/ns/${namespace}`),
          );
        }
        expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/CapEff:\s+0+\n/);
      }
      parent.kill('SIGKILL');
      await until('the child ends with its parent', () => descendantsOf(parent.pid as number).length === 0);
    },
  );
});

function programOf(module: string, call: string): string {
  const sleep = {
    ...{ ffmpegPath: join(folder, 'sleep.sh'), arguments: [], timeoutMs: 60_000, maxFileBytes: 1_000_000 },
  };
  const urlOf = (name: string) => JSON.stringify(pathToFileURL(shippedChild(name)).href);
  return `
    const SLEEP = ${JSON.stringify(sleep)};
    const HOST = '127.0.0.1:${(server.address() as AddressInfo).port}';
    const PAGE = 'http://' + HOST + '/';
    const { workFolders } = await import(${urlOf('engines/child/workFolders')});
    const FOLDERS = workFolders(${JSON.stringify(join(data, 'tmp'))});
    const { ${/^\w+/.exec(call)?.[0]} } = await import(${urlOf(module)});
    setInterval(() => undefined, 1000);
    await Promise.resolve(${call}).catch(() => undefined);
  `;
}

it('logs at the start of a process what decoders can reach, and why', () => {
  const lines: string[] = [];
  const write = (...words: unknown[]) => void lines.push(words.map((word) => JSON.stringify(word)).join(' '));
  reportDecoderIsolation({ info: write, warn: write } as never);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(isolation.description);
  expect(lines[0]).toContain(isolation.reason ?? '');
});

interface Descendant {
  pid: number;
  /** Command line, separated by zero bytes. */
  command: string;
}

function descendantsOf(root: number): Descendant[] {
  const found = new Map<number, { parent: number; command: string }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      found.set(Number(name), { parent, command: readFileSync(`/proc/${name}/cmdline`, 'latin1') });
    } catch {
      // The process has ended meanwhile.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(found.get(pid)?.parent));
  return [...found].filter(([pid]) => pid !== root && isBelow(pid)).map(([pid, { command }]) => ({ pid, command }));
}

/** Programs that create the namespaces. A process that was just forked has its parent's command. */
function isWrapper(command: string): boolean {
  const [program = '', , script = ''] = command.split('\0');
  if (program === '/bin/sh') return script.includes(' work=$1 ');
  return ['', 'unshare', 'mount', 'mkdir', 'setpriv'].includes(program) || command.includes('--input-type');
}
