import { describe, expect, it } from 'vitest';
import {
  CACHE_WRITE_SECONDS,
  nearestRetention,
  RETENTION_TEXT,
  retentionSecondsOf,
} from '../../../domain/text/promptCache.ts';

describe('the text of a retention', () => {
  it.each([
    ['default', undefined],
    ['in_memory', 300],
    ['extended', 86_400],
    ['90s', 90],
    ['30m', 1_800],
    ['1h', 3_600],
    ['12h', 43_200],
    ['24h', 86_400],
    ['7d', 604_800],
  ])('%s is %s seconds', (text, seconds) => {
    expect(RETENTION_TEXT.test(text)).toBe(true);
    expect(retentionSecondsOf(text)).toBe(seconds);
  });

  it.each(['', 'h', '1', '0h', '01h', '1.5h', '-1h', '1 h', '1H', '1w', 'in-memory', '1h\n', '24hours', '9999999h'])(
    '%j is malformed',
    (text) => {
      expect(RETENTION_TEXT.test(text)).toBe(false);
    },
  );
});

describe('the nearest offered length', () => {
  it.each([
    [1, '5m'],
    [1_950, '5m'],
    [1_951, '1h'],
    [604_800, '1h'],
  ])('of %i seconds is %s', (seconds, name) => {
    expect(nearestRetention(seconds, CACHE_WRITE_SECONDS)).toBe(name);
  });
});
