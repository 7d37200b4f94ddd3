import { expect, it } from 'vitest';
import { traceMediaProvider, traceTextProvider } from '../../api/traceProviders.ts';

it('without a collector the providers stay as they are', () => {
  const entry = { name: 'entry', kind: 'openai' };
  const text = { close: async () => undefined };
  expect(traceTextProvider(entry, text)).toBe(text);
  expect(traceMediaProvider(entry, text)).toBe(text);
});
