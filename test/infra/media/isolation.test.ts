/** The decoders' namespaces, tried from inside: a secret is planted wherever a real process has one, and looked for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decoderIsolation, reportDecoderIsolation } from '../../../infra/media/isolation.ts';
import { shippedChild } from '../../../infra/media/keptChild.ts';
import { until } from '../../harness/until.ts';

const SECRET = 'canary-7f3a91c2d4';
const LIMIT_MS = 30_000;

/** Looks for the secret in every place that a process of this user could read, and for a way out to the network. */
const PROBE = `
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
const attempt = (work) => { try { return work(); } catch { return undefined; } };
process.on('message', async ({ files, folders, port, writable, file }) => {
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
  const wrote = attempt(() => (writeFileSync(writable + '/out', 'done'), true)) ?? false;
  const connected = await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.setTimeout(3000, () => resolve(false));
  });
  process.send({ file, found, seen, wrote, connected });
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
`;

interface ProbeAnswer {
  found: string[];
  seen: string[];
  wrote: boolean;
  connected: boolean;
}

let folder: string;
let data: string;
let server: Server;
const parents: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-isolation-'));
  data = join(folder, 'data');
  mkdirSync(join(data, 'tmp'), { recursive: true });
  writeFileSync(join(data, 'dev.json'), SECRET);
  writeFileSync(join(folder, 'database-url'), SECRET);
  writeFileSync(join(folder, 'probe.mjs'), PROBE);
  server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  for (const parent of parents) parent.kill('SIGKILL');
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A process with the secret in its environment, in a file that a variable names, and in its data folder. */
function startParent(program: string): ChildProcess {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      FAREBOX_DATA: data,
      PROVIDER_KEY: SECRET,
      DATABASE_URL_FILE: join(folder, 'database-url'),
    },
  });
  parents.push(parent);
  return parent;
}

async function probe(): Promise<ProbeAnswer> {
  const keptChild = pathToFileURL(shippedChild('media/keptChild')).href;
  const question = {
    files: [join(folder, 'database-url'), join(data, 'dev.json')],
    folders: [data],
    writable: join(data, 'tmp'),
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
  const [answer] = (await once(parent, 'message', { signal: AbortSignal.timeout(LIMIT_MS) })) as [
    ProbeAnswer,
  ];
  parent.kill('SIGKILL');
  return answer;
}

const isolation = decoderIsolation();

describe.runIf(isolation.isolated)('a child that decodes, where the kernel allows namespaces', () => {
  it('finds no secret of its parent in any process, descriptor or file', async () => {
    const { found, seen } = await probe();
    expect({ found, seen }).toEqual({ found: [], seen: ['tmp'] });
  });

  it('writes its results into the work folder, and connects to nothing', async () => {
    const { wrote, connected } = await probe();
    expect({ wrote, connected }).toEqual({ wrote: true, connected: false });
    expect(readFileSync(join(data, 'tmp', 'out'), 'utf8')).toBe('done');
  });

  it.each([
    ['inspection', 'media/inspector', "createInspector({ maxChildren: 1 }).inspect('image', '/nowhere')"],
    [
      'image',
      'media/imageWork/imageWork',
      "createImageWork({ maxChildren: 1 }).run('measure', { path: '/nowhere' })",
    ],
    [
      'media',
      'media/ffmpeg',
      'ffmpeg.convert(ENDLESS, { signal: new AbortController().signal, onProgress() {} })',
    ],
  ])(
    'runs the %s child and all that it starts outside the namespaces of the service',
    async (_kind, module, call) => {
      const endless = JSON.stringify({
        ...{ ffmpegPath: '/bin/sleep', arguments: ['600'], timeoutMs: 60_000, maxFileBytes: 1_000_000 },
      });
      const url = pathToFileURL(shippedChild(module)).href;
      const parent = startParent(`
      const ENDLESS = ${endless};
      const { ${/^\w+/.exec(call)?.[0]} } = await import('${url}');
      const work = Promise.resolve(${call}).catch(() => undefined);
      setInterval(() => undefined, 1000);
      await work;
    `);
      let children: number[] = [];
      const findChildren = () => {
        children = descendantsOf(parent.pid as number).filter((pid) =>
          isOtherNode(pid, parent.pid as number),
        );
        return children.length > 0;
      };
      await until('the child runs', findChildren, LIMIT_MS);
      for (const pid of children) {
        for (const kind of ['pid', 'net', 'mnt']) {
          expect(readlinkSync(`/proc/${pid}/ns/${kind}`)).not.toBe(
            readlinkSync(`/proc/${parent.pid}/ns/${kind}`),
          );
        }
        expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/CapEff:\s+0+\n/);
      }
      parent.kill('SIGKILL');
      await until(
        'the child ends with its parent',
        () => descendantsOf(parent.pid as number).length === 0,
        LIMIT_MS,
      );
    },
  );
});

it('says at the start of a process whether decoders are isolated, and why not', () => {
  const lines: string[] = [];
  const write = (...words: unknown[]) => void lines.push(words.map((word) => JSON.stringify(word)).join(' '));
  reportDecoderIsolation({ info: write, warn: write } as never);
  expect(lines).toHaveLength(1);
  if (isolation.isolated) expect(lines[0]).toContain('namespaces of their own');
  else expect(lines[0]).toContain(isolation.reason);
});

function descendantsOf(root: number): number[] {
  const parentOf = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      parentOf.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(parentOf.get(pid)));
  return [...parentOf.keys()].filter((pid) => pid !== root && isBelow(pid));
}

/** A copy of the parent that has not started its program yet has the parent's command. */
function isOtherNode(pid: number, parent: number): boolean {
  const commandOf = (one: number) => readFileSync(`/proc/${one}/cmdline`, 'latin1');
  try {
    return commandOf(pid).startsWith(`${process.execPath}\0`) && commandOf(pid) !== commandOf(parent);
  } catch {
    return false;
  }
}
