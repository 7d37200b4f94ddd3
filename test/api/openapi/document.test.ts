import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { describeApi } from '../../../api/openapi/document.ts';
import { ROUTES } from '../../../api/routes.ts';
import { UNBUILT } from '../../../infra/config/buildVersion.ts';
import { DESCRIPTION_FILE, operationsOf, readDescription } from '../../harness/apiContract.ts';
import { startApi, type TestApi } from '../startApi.ts';

const description = readDescription();

describe('the committed description', () => {
  it('matches the routes', () => {
    const now = describeApi({ routes: ROUTES, title: 'Farebox', version: UNBUILT });
    const text = `${JSON.stringify(now, null, 2)}\n`;
    expect(readFileSync(DESCRIPTION_FILE, 'utf8') === text, 'run: npm run openapi -- --out openapi.json').toBe(true);
  });

  it('is valid OpenAPI 3.1', async () => {
    expect(description.openapi).toBe('3.1.0');
    expect(await new Validator().validate(DESCRIPTION_FILE)).toEqual({ valid: true });
  });

  it('has every route once', () => {
    const described = operationsOf(description).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(described.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
    const ids = operationsOf(description).map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('describes the dry-run answer of each paid route', () => {
    // Cloned voices have no dry run.
    const paid = ROUTES.filter(({ access, path }) => access === 'buyer' && path !== '/audio/voices');
    const silent = paid.filter(({ method, path }) => {
      const found = operationsOf(description).find(
        (each) => each.path === path && each.method.toUpperCase() === method,
      );
      return !/DryRun|dry_run/.test(JSON.stringify(found?.operation));
    });
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  // Stages (API-15).
  test.each([
    ['post', '/responses', 'alpha'],
    ['get', '/billing/usage-analytics', 'beta'],
    ['get', '/characters', 'experimental'],
    ['get', '/characters/{slug}', 'experimental'],
  ])('%s %s is marked %s', (method, path, stage) => {
    const operation = description.paths[path]?.[method];
    expect(operation?.['x-stability']).toBe(stage);
    expect(operation?.summary).toContain(`(${stage})`);
  });

  it('has a row for every error in its catalogue', () => {
    for (const word of ['insufficient_balance', 'rate_limited', 'media_too_long', 'unavailable']) {
      expect(description.info.description).toMatch(new RegExp(`\\| \\d{3} \\| \`${word}\` \\| .+ \\|`));
    }
  });
});

describe('the documentation pages', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startApi({
      config: (config) => ({ ...config, brand: { ...config.brand, name: 'Farebox' } }),
    });
  });

  afterAll(() => api.stop());

  it('serve the description with the time of the build, to everybody', async () => {
    const answer = await fetch(`${api.origin}/openapi.json`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const served = (await answer.json()) as typeof description;
    expect(served.info.version).toMatch(/^\d{8}\.\d{6}$/);
    expect(served.info.version).not.toBe(UNBUILT);
    expect({ ...served, info: { ...served.info, version: UNBUILT } }).toEqual(description);
  });

  it('answer 304 to a matching ETag', async () => {
    const { headers } = await fetch(`${api.origin}/openapi.json`);
    const again = await fetch(`${api.origin}/openapi.json`, {
      headers: { 'If-None-Match': headers.get('etag') ?? '' },
    });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('load nothing from other origins', async () => {
    const page = await fetch(`${api.origin}/docs`);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, place]) => place);
    expect(loaded.length).toBeGreaterThan(3);
    for (const place of loaded) {
      const file = await fetch(`${api.origin}${place}`);
      expect([place, file.status]).toEqual([place, 200]);
      expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });
});
