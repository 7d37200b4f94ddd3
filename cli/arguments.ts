/** Parsers of option values for commander. Each throws an error that says which values are allowed. */
import { InvalidArgumentError } from 'commander';
import { type Nano, parseNano } from '../domain/money.ts';

export function readAmount(value: string): Nano {
  const amount = parseNano(value);
  if (amount === undefined) throw new InvalidArgumentError('A decimal number such as 12.5 is allowed.');
  return amount;
}

export function readPositiveAmount(value: string): Nano {
  const amount = readAmount(value);
  if (amount === 0n) throw new InvalidArgumentError('An amount above zero is allowed.');
  return amount;
}

export function readLimit(value: string): number {
  const limit = Number(value);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new InvalidArgumentError('A whole number from 1 to 1000 is allowed.');
  }
  return limit;
}

/** An ISO date or time in the future. A date alone means midnight UTC. */
export function readFuture(value: string): Date {
  const at = readDate(value);
  if (at !== undefined && at.getTime() > Date.now()) return at;
  throw new InvalidArgumentError('A date in the future such as 2030-01-31 or 2030-01-31T12:00:00Z is allowed.');
}

export function readPast(value: string): Date {
  const at = readDate(value);
  if (at !== undefined && at.getTime() <= Date.now()) return at;
  throw new InvalidArgumentError('A date in the past such as 2026-01-31 or 2026-01-31T12:00:00Z is allowed.');
}

function readDate(value: string): Date | undefined {
  const at = new Date(value);
  return /^\d{4}-\d{2}-\d{2}/.test(value) && !Number.isNaN(at.getTime()) ? at : undefined;
}
