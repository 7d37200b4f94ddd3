import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AlreadyRunning, DATA_FORMAT, DataFolderError, openDataFolder } from '../../../dev/stack/dataFolder.ts';

const BASE_URL = 'http://127.0.0.1:8080/api/v1';
let folder: string;

beforeEach(() => {
  folder = path.join(mkdtempSync(path.join(os.tmpdir(), 'farebox data ')), 'data');
});

afterEach(() => rmSync(path.dirname(folder), { recursive: true, force: true }));

function problemOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was accepted');
}

test('creates a data folder that only its owner can read, and keeps its secrets', () => {
  const first = openDataFolder(folder, BASE_URL);
  first.release();
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(path.join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
  const second = openDataFolder(folder, BASE_URL);
  expect(second.secrets).toEqual(first.secrets);
  second.release();
});

test('adds the missing secrets to a data folder of an older release', () => {
  const first = openDataFolder(folder, BASE_URL);
  first.release();
  const { redisPassword: _, ...older } = first.secrets;
  writeFileSync(path.join(folder, 'secrets.json'), JSON.stringify(older));
  const second = openDataFolder(folder, BASE_URL);
  second.release();
  expect(second.secrets).toEqual({ ...older, redisPassword: expect.stringMatching(/^[0-9a-f]{36}$/) });
  const third = openDataFolder(folder, BASE_URL);
  expect(third.secrets).toEqual(second.secrets);
  third.release();
});

test('refuses a data folder that a newer release wrote', () => {
  openDataFolder(folder, BASE_URL).release();
  writeFileSync(path.join(folder, 'format.json'), JSON.stringify({ format: DATA_FORMAT + 1 }));
  const problem = problemOf(() => openDataFolder(folder, BASE_URL));
  expect(problem).toBeInstanceOf(DataFolderError);
  expect(problem.message).toContain('written by a newer Farebox');
  expect(problem.message).toContain('FAREBOX_DATA');
});

test('refuses a data folder of the previous layout and leaves it unchanged', () => {
  openDataFolder(folder, BASE_URL).release();
  const older = JSON.stringify({ format: 1 });
  writeFileSync(path.join(folder, 'format.json'), older);
  const problem = problemOf(() => openDataFolder(folder, BASE_URL));
  expect(problem).toBeInstanceOf(DataFolderError);
  expect(problem.message).toContain('written by an older Farebox');
  expect(problem.message).toContain('FAREBOX_DATA');
  expect(readFileSync(path.join(folder, 'format.json'), 'utf8')).toBe(older);
});

test('refuses a folder with other contents', () => {
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'thesis.txt'), 'mine');
  expect(problemOf(() => openDataFolder(folder, BASE_URL)).message).toContain('not a data folder of Farebox');
});

test('accepts a folder that contains only work folders of an API or worker, and keeps them', () => {
  const work = path.join(folder, 'tmp', 'of a killed process');
  mkdirSync(work, { recursive: true });
  openDataFolder(folder, BASE_URL).release();
  expect(existsSync(work)).toBe(true);
  writeFileSync(path.join(folder, 'thesis.txt'), 'mine');
  rmSync(path.join(folder, 'format.json'));
  expect(problemOf(() => openDataFolder(folder, BASE_URL)).message).toContain('not a data folder of Farebox');
});

test('tells a second supervisor where the first one runs', () => {
  const first = openDataFolder(folder, BASE_URL);
  const problem = problemOf(() => openDataFolder(folder, 'http://127.0.0.1:9/api/v1'));
  expect(problem).toBeInstanceOf(AlreadyRunning);
  expect(problem.message).toContain(BASE_URL);
  first.release();
  openDataFolder(folder, BASE_URL).release();
});

test('ignores the lock of a killed supervisor, also if its process id was reused', () => {
  openDataFolder(folder, BASE_URL).release();
  const { pid } = spawnSync('true');
  const dead = [
    { pid, started: 'another boot:1', baseUrl: BASE_URL },
    { pid: process.pid, started: 'another boot:1', baseUrl: BASE_URL },
    'half a li',
  ];
  for (const holder of dead) {
    const content = typeof holder === 'string' ? holder : JSON.stringify(holder);
    writeFileSync(path.join(folder, 'supervisor.lock'), content);
    openDataFolder(folder, BASE_URL).release();
  }
});
