/** Isolation of decoders where the kernel denies some namespaces, and where a user cannot read the node program. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decoderIsolation } from '../../../engines/child/isolation.ts';
import { shippedChild } from '../../../engines/child/keptChild.ts';

const SECRET = 'canary-5b1e07aa93';

let folder: string;
let program: string;
let plainProgram: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'farebox-levels-'));
  chmodSync(folder, 0o755);
  program = join(folder, 'levels.mjs');
  const module = JSON.stringify(pathToFileURL(shippedChild('engines/child/isolation')).href);
  // Prints the environment of its parent, the secret file, and whether it shares the network.
  const decoder = `
    echo ran; tr '\\\\0' '\\\\n' < /proc/$1/environ; cat "$2"
    [ "$(readlink /proc/self/ns/net)" = "$3" ] && echo same network`;
  writeFileSync(
    program,
    `import { spawnSync } from 'node:child_process';
    import { readlinkSync } from 'node:fs';
    const { decoderIsolation, isolatedCommand } = await import(${module});
    const net = readlinkSync('/proc/self/ns/net');
    const command = ['/bin/sh', '-c', \`${decoder}\`, 'sh', String(process.pid), process.env.FAREBOX_CONFIG, net];
    const [name, ...args] = isolatedCommand(command);
    const { stdout } = spawnSync(name, args, { env: {}, encoding: 'utf8' });
    console.log(JSON.stringify({ ...decoderIsolation(), stdout }));`,
  );
  writeFileSync(join(folder, 'config.json'), 'config-secret');
  plainProgram = join(folder, 'plain.mjs');
  writeFileSync(
    plainProgram,
    `import { spawnSync } from 'node:child_process';
    const { isEnvironmentReadable } = await import(${module});
    const command = ['-c', 'cat /proc/$PPID/environ; ls /proc/$PPID/fd'];
    const { stdout } = spawnSync('/bin/sh', command, { env: {}, encoding: 'utf8' });
    console.log(JSON.stringify({ isReadable: isEnvironmentReadable(), stdout }));`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Found {
  level: string;
  description: string;
  reason?: string;
  stdout: string;
}

function runProgram(command: string[]): Found {
  const [name = '', ...args] = command;
  const { stdout, stderr } = spawnSync(name, args, {
    encoding: 'utf8',
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      DATABASE_URL: SECRET,
      FAREBOX_DATA: join(folder, 'data'),
      FAREBOX_CONFIG: join(folder, 'config.json'),
    },
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Root of a user namespace restricted by `restriction`, as in a container. */
function restrictedBy(restriction: string): Found {
  const namespaces = ['--user', '--map-root-user', '--mount'];
  const script = `${restriction}; exec "$@"`;
  return runProgram(['unshare', ...namespaces, 'sh', '-c', script, 'sh', process.execPath, program]);
}

const isFull = decoderIsolation().level === 'full';

describe.runIf(isFull)('a decoder without some of the namespaces', () => {
  it('has no network and cannot read files or variables when /proc cannot be mounted', () => {
    const { level, description, reason, stdout } = restrictedBy(MASK);
    expect({ level, stdout }).toEqual({ level: 'shared_proc', stdout: 'ran\n' });
    expect(description).toMatch(/^run without network; .*\/proc/);
    expect(reason).toContain('/proc');
  });

  it('has no network and cannot read variables when nothing can be mounted', () => {
    const { level, description, stdout } = restrictedBy('echo 0 > /proc/sys/user/max_mnt_namespaces');
    expect({ level, stdout }).toEqual({ level: 'no_network', stdout: 'ran\nconfig-secret' });
    expect(description).toMatch(/^run without network; they can read the files/);
  });

  it('is reported as not isolated without namespaces', () => {
    const { level, description } = restrictedBy('echo 0 > /proc/sys/user/max_pid_namespaces');
    expect({ level, description }).toEqual({
      level: 'none',
      description: expect.stringMatching(/^are not isolated: they can reach the network and read the files/),
    });
  });
});

/** An inherited mask, as in a pod: the kernel then refuses to mount a /proc that would show what it hides. */
const MASK = 'mount --bind /dev/null /proc/version; set -- unshare --user --map-root-user --mount "$@"';

describe('a child of the same user without namespaces', () => {
  /** Prints the environment of its parent, which runs a copy of node with these permissions. */
  function environmentSeenBelow(mode: number): { isReadable: boolean; stdout: string } {
    const node = join(folder, `node-${mode.toString(8)}`);
    copyFileSync(process.execPath, node);
    chmodSync(node, mode);
    // Root may read every file, and so may `setpriv` until it starts a program, so a shell without rights starts node.
    const user = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--clear-groups'] : [];
    const [name = '', ...args] = [...user, 'sh', '-c', 'exec "$@"', 'sh', node, plainProgram];
    const { stdout, stderr } = spawnSync(name, args, { encoding: 'utf8', env: { DATABASE_URL: SECRET } });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  it('reads the variables of a process whose program file its user can read', () => {
    const { isReadable, stdout } = environmentSeenBelow(0o755);
    expect({ isReadable, stdout }).toEqual({ isReadable: true, stdout: expect.stringContaining(SECRET) });
  });

  it('reads no variable and no descriptor of a process whose program file its user can only execute', () => {
    expect(environmentSeenBelow(0o111)).toEqual({ isReadable: false, stdout: '' });
  });
});
