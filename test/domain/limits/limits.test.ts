/** Published limits of an account per model (LIMIT-1 to LIMIT-5), and the effect of a configuration. */
import { describe, expect, it } from 'vitest';
import { MODEL_TYPES } from '../../../domain/catalogue/model.ts';
import {
  callsInFlightOf,
  LIMIT_TYPES,
  type LimitedModel,
  perMinuteOf,
  refusalOf,
  requestsOf,
} from '../../../domain/limits/limits.ts';
import { refundedPerDayOf } from '../../../domain/limits/refundedPerDay.ts';

type Row = [LimitedModel, paid: [number?, number?], partner: [number?, number?]];

const PUBLISHED: Row[] = [
  [{ type: 'text', size: 'XS' }, [500, 5_000_000], [500, 10_000_000]],
  [{ type: 'text', size: 'S' }, [150, 3_000_000], [300, 6_000_000]],
  [{ type: 'text', size: 'M' }, [100, 2_000_000], [200, 4_000_000]],
  [{ type: 'text', size: 'L' }, [100, 2_000_000], [150, 3_000_000]],
  [{ type: 'text' }, [100, 2_000_000], [150, 3_000_000]],
  [{ type: 'decision' }, [100, 1_000_000], [300, 10_000_000]],
  [{ type: 'embedding' }, [500, 5_000_000], [500, 10_000_000]],
  [{ type: 'embedding', size: 'L' }, [500, 5_000_000], [500, 10_000_000]],
  [{ type: 'image' }, [20], [60]],
  [{ type: 'inpaint' }, [20], [60]],
  [{ type: 'upscale' }, [20], [60]],
  [{ type: 'tts' }, [60], [120]],
  [{ type: 'asr' }, [60], [120]],
  [{ type: 'music' }, [], []],
  [{ type: 'video' }, [], []],
];

describe('the limits of a model', () => {
  it.each(PUBLISHED)('%j are as published', (model, paid, partner) => {
    expect(perMinuteOf(model, 'paid')).toEqual({ requests: paid[0], tokens: paid[1] });
    expect(perMinuteOf(model, 'partner')).toEqual({ requests: partner[0], tokens: partner[1] });
    expect(perMinuteOf(model, 'staff')).toEqual(perMinuteOf(model, 'partner'));
  });

  it('are published for every type', () => {
    expect(new Set(PUBLISHED.map(([{ type }]) => type))).toEqual(new Set(MODEL_TYPES));
  });

  it.each(PUBLISHED)('%j use the numbers of an override, and stay unlimited otherwise', (model) => {
    const published = perMinuteOf(model, 'paid');
    const changed = perMinuteOf(model, 'paid', { requestsPerMinute: 7, tokensPerMinute: 8 });
    expect(changed.requests).toBe(published.requests === undefined ? undefined : 7);
    expect(changed.tokens).toBe(published.tokens === undefined ? undefined : 8);
    const one = perMinuteOf(model, 'paid', { requestsPerMinute: 0 });
    expect(one).toEqual({ ...published, ...(published.requests !== undefined && { requests: 0 }) });
  });
});

describe('the request limit of routes without a model', () => {
  it.each([
    ['routes', {}, 1_200],
    ['routes', { requestsPerMinute: 5 }, 5],
    ['routes', { requestsPerMinute: 100_000 }, 100_000],
    ['jobs', {}, 60_000],
    ['jobs', { requestsPerMinute: 5 }, 60_000],
    ['jobs', { requestsPerMinute: 100_000 }, 100_000],
  ] as const)('of the group %s with %j is %i a minute', (group, override, most) => {
    expect(requestsOf(group, override)).toBe(most);
  });
});

describe('the limit of calls in flight', () => {
  it.each([
    [{}, false, 2_000],
    [{}, true, 5],
    [{ callsInFlight: 3 }, false, 3],
    [{ callsInFlight: 30 }, true, 30],
    [{ callsInFlight: 0 }, true, 0],
  ])('with %j (a wallet: %s) is %i', (override, isWallet, most) => {
    expect(callsInFlightOf(override, isWallet)).toBe(most);
  });
});

describe('the message of a limit refusal', () => {
  it.each(LIMIT_TYPES)('for %s names the limit, but not its counter', (type) => {
    const words = refusalOf(type, 12_345);
    expect(words).toContain('12345');
    expect(words).toMatch(/^[A-Z].*\.$/);
    expect(words).not.toContain(type);
  });

  it('differs for every cause', () => {
    expect(new Set(LIMIT_TYPES.map((type) => refusalOf(type, 1))).size).toBe(LIMIT_TYPES.length);
  });
});

describe('the daily refund budget of an account', () => {
  const limits = {
    refundedPerDay: 2.5,
    overrides: { rich: { refundedPerDay: 100 }, none: {}, shut: { refundedPerDay: 0 } },
  };

  it.each([
    ['anybody', 2_500_000_000n],
    ['none', 2_500_000_000n],
    ['rich', 100_000_000_000n],
    ['shut', 0n],
  ])('for %s is %d nano USD', (accountId, most) => {
    expect(refundedPerDayOf(limits, accountId)).toBe(most);
  });
});
