import { expect, it } from 'vitest';
import { createHeldBytes } from '../../../infra/media/heldBytes.ts';

const full = expect.objectContaining({
  code: 'unavailable',
  message: 'Too many media are being passed on at the moment; try again in 5 seconds',
  retryAfterSeconds: 5,
});

it('holds so many bytes of all requests together, and takes more when one is over', () => {
  const held = createHeldBytes(100);
  const [first, second] = [held.open(), held.open()];
  first.take(60);
  second.take(40);
  expect(() => second.take(1)).toThrow(full);
  first.release();
  second.take(60);
  expect(() => first.take(1)).toThrow(full);
});

it('gives back once what a request had, however often it is released', () => {
  const held = createHeldBytes(100);
  const [first, second] = [held.open(), held.open()];
  first.take(100);
  first.release();
  first.release();
  second.take(100);
  expect(() => held.open().take(1)).toThrow(full);
});

it('what was refused takes no room', () => {
  const held = createHeldBytes(100);
  expect(() => held.open().take(101)).toThrow(full);
  held.open().take(100);
});
