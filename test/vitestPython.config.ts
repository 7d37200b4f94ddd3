import { defineConfig } from 'vitest/config';

/** Configuration of `npm run check:python`, which needs tools that the tests must not need. */
export default defineConfig({
  test: {
    include: ['test/sdk/python/*.check.ts'],
    globalSetup: ['test/harness/globalSetup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
