/** Time that an upstream call outlives its client, by a fake clock. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { departureOf } from '../../../api/text/chatOrder.ts';
import { openUpstreamCall } from '../../../api/text/modelCall.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import { textModel } from './textWorld.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Returns the signal of an upstream call whose client leaves at once. */
function leave(spec: Partial<TextModel['spec']>, stream: boolean): AbortSignal {
  const model = textModel({ spec: { ...textModel({}).spec, ...spec } });
  const departure = departureOf({ providers: {} }, { stream });
  let depart: () => void = () => undefined;
  const request = {
    whenGone: (act: () => void) => {
      depart = act;
      return () => undefined;
    },
    ...{ expired: false, ending: new AbortController().signal },
  };
  const { signal } = openUpstreamCall(request, { drainMs: departure.drainMs(model), isStream: departure.isStream });
  depart();
  return signal;
}

it('a stream with `onDisconnect: abort` ends at the departure of its client', () => {
  expect(leave({ onDisconnect: 'abort' }, true).aborted).toBe(true);
});

it.each([
  ['a stream that is to be drained', { onDisconnect: 'drain' }, true],
  ['a whole answer', { onDisconnect: 'abort' }, false],
] as const)('%s ends 125 s after the departure of its client', (_what, spec, stream) => {
  const signal = leave(spec, stream);
  vi.advanceTimersByTime(124_999);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
});
