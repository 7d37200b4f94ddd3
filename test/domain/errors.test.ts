import { describe, expect, it } from 'vitest';
import { ERROR_CODES, FareboxError, isErrorCode } from '../../domain/errors.ts';
import { INSUFFICIENT, keyLimitReached } from '../../domain/refusals.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';

describe('an error', () => {
  it('separates its internal details from its message', () => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.5');
    const error = new FareboxError({ code: 'unavailable', message: 'Try again.', internal: 'redis', cause });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.message]).toEqual(['FareboxError', 'unavailable', 'Try again.']);
    expect([error.internal, error.cause]).toEqual(['redis', cause]);
    expect(String(error)).toBe('FareboxError: Try again.');
  });

  it('has no cause by default', () => {
    expect(Object.hasOwn(new FareboxError({ code: 'internal', message: 'x' }), 'cause')).toBe(false);
  });

  it('tells clients when to retry, and which field was wrong', () => {
    const error = new FareboxError({
      ...{ code: 'rate_limited', message: 'Too many.', retryAfterSeconds: 5, limitType: 'RPM' },
      ...{ fields: { model: ['Unknown'] }, details: { supported_voices: ['alto'] } },
    });
    expect(error).toMatchObject({
      ...{ retryAfterSeconds: 5, limitType: 'RPM' },
      ...{ fields: { model: ['Unknown'] }, details: { supported_voices: ['alto'] } },
    });
  });

  it('has one of the known codes, which are unique', () => {
    expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length);
    for (const code of ERROR_CODES) expect(isErrorCode(code)).toBe(true);
    for (const other of ['', 'Internal', 'toString', 0, null, undefined, ['internal'], {}]) {
      expect(isErrorCode(other)).toBe(false);
    }
  });
});

describe('a refusal for lack of funds', () => {
  it('names the exhausted limit of the key', () => {
    expect(keyLimitReached('usd').message).toBe('API key USD spend limit exceeded.');
    expect(keyLimitReached('diem').message).toBe('API key DIEM spend limit exceeded.');
    expect([keyLimitReached('usd').code, INSUFFICIENT.code]).toEqual(['key_limit_exceeded', 'insufficient_balance']);
  });
});

describe('a failure of an upstream', () => {
  it('separates its internal details from the message for the client', () => {
    const failure = new UpstreamFailure({
      ...{ reason: 'rate_limited', detail: '429 slow_down', retryAfterMs: 2_000, status: 429 },
      message: 'Slow down.',
    });
    expect(failure).toBeInstanceOf(Error);
    expect(failure).toMatchObject({ reason: 'rate_limited', words: 'Slow down.', retryAfterMs: 2_000 });
  });
});
