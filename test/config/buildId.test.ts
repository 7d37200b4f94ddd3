import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { workflowBuildId } from '../../infra/config/buildVersion.ts';
import { loadConfig } from '../../infra/config/config.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE } from './environments.ts';

test('gives workers with the same workflow code one version, and every change of it another', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'farebox-build-'));
  const bundle = path.join(folder, 'bundle.js');
  const idOf = (code: string) => {
    writeFileSync(bundle, code);
    return workflowBuildId(bundle);
  };
  expect(idOf('a')).toMatch(/^[0-9a-f]{16}$/);
  expect(idOf('a')).toBe(idOf('a'));
  expect(idOf('a')).not.toBe(idOf('b'));
  rmSync(folder, { recursive: true });
  expect(workflowBuildId(bundle)).toBe('source');
});

test('takes the version from FAREBOX_BUILD_ID if that is set', () => {
  expect(loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_BUILD_ID: 'release-7' }).buildId).toBe('release-7');
});
