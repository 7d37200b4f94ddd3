import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { workFolders } from '../../../engines/child/workFolders.ts';

it('creates a private work folder, and removes it with its contents', async () => {
  const folders = workFolders(mkdtempSync(join(tmpdir(), 'farebox folders ')));
  const folder = await folders.create();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  writeFileSync(join(folder, 'part'), 'x');
  mkdirSync(join(folder, 'deeper'));
  await folders.remove(folder);
  void folders.remove(folder);
  await folders.settled();
  expect(existsSync(folder)).toBe(false);
});

it('sweeps what dead processes left, and nothing of live processes or other machines', async () => {
  const root = mkdtempSync(join(tmpdir(), 'farebox-folders-'));
  const folders = workFolders(root);
  const own = basename(await folders.create());
  const [machine = '', pid = '', start = ''] = own.split('.');
  const dead = spawn('true');
  await new Promise((resolve) => dead.on('exit', resolve));
  const left = [
    `${machine}.${dead.pid}.1.left`,
    // The same process id, reused by another process since.
    `${machine}.${pid}.${Number(start) - 1}.left`,
  ];
  const kept = [own, 'elsewhere.1.1.kept', 'unrelated'];
  for (const name of [...left, ...kept.slice(1)]) mkdirSync(join(root, name));
  await folders.sweep();
  expect(readdirSync(root).sort()).toEqual([...kept].sort());
});

it('sweeps a missing root without an error', async () => {
  await workFolders(join(tmpdir(), 'farebox-nowhere', 'x')).sweep();
});
