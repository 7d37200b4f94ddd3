import { expect, it } from 'vitest';
import { createMediaBudget } from '../../infra/byteBudget.ts';

const full = expect.objectContaining({
  code: 'unavailable',
  message: 'Too many media are being passed on at the moment; try again in 5 seconds',
  retryAfterSeconds: 5,
});
const overShare = expect.objectContaining({
  code: 'rate_limited',
  limitType: 'FETCHED_BYTES',
  message: 'Rate limit exceeded: at most 60 bytes of fetched media in memory at a time for this account.',
  retryAfterSeconds: 5,
});
const open = () => createMediaBudget({ maxBytes: 100, maxAccountBytes: 60 });

it('limits the bytes of all requests together, and accepts more when one ends', () => {
  const held = open();
  const [first, second] = [held.open('a'), held.open('b')];
  first.take(60);
  second.take(40);
  expect(() => second.take(1)).toThrow(full);
  first.release();
  second.take(20);
  expect(() => first.take(1)).toThrow('The request is over.');
});

it('limits the bytes of one account over all its requests, and leaves the rest to others', () => {
  const held = open();
  held.open('a').take(30);
  const second = held.open('a');
  second.take(30);
  expect(() => second.take(1)).toThrow(overShare);
  held.open('b').take(40);
  second.release();
  held.open('a').take(30);
});

it('allows 256 MB by default, and half of it to one account', () => {
  const held = createMediaBudget();
  const half = 128 * 1024 * 1024;
  held.open('a').take(half);
  expect(() => held.open('a').take(1)).toThrow('Rate limit exceeded');
  held.open('b').take(half);
  expect(() => held.open('c').take(1)).toThrow(full);
});

it('returns the bytes of a request once, however often it is released', () => {
  const held = open();
  const first = held.open('a');
  first.take(60);
  first.release();
  first.release();
  expect(held.reservedBytes).toBe(0);
  held.open('a').take(60);
  expect(() => held.open('b').take(41)).toThrow(full);
});

it('returns the bytes that were refused', () => {
  const held = open();
  expect(() => held.open('a').take(61)).toThrow(overShare);
  held.open('a').take(60);
});
