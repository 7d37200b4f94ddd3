import { defineConfig } from 'vitest/config';

/** Of `npm run check:python` alone: it needs what a test of this repository must not need. */
export default defineConfig({
  test: {
    include: ['test/sdk/python/*.check.ts'],
    globalSetup: ['test/harness/globalSetup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
