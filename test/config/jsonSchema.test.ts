import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationJsonSchema } from '../../infra/config/schema/file.ts';
import { PROVIDERS } from '../../providers/registry.ts';

test('publishes the JSON Schema that the code checks', () => {
  const published = readFileSync(new URL('../../farebox.config.schema.json', import.meta.url), 'utf8');
  expect(
    published === configurationJsonSchema(PROVIDERS),
    'run: npm run farebox -- config schema --out farebox.config.schema.json',
  ).toBe(true);
});
