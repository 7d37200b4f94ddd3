/**
 * Building blocks of the configuration file's schema. Convention: a message written here completes the sentence
 * "allowed: …", because every error names the path, what was found and what is allowed.
 */
import { z } from 'zod';
import { nanoFromNumber, nanoToNumber } from '../../../domain/money.ts';
import type { ProviderKind } from '../../../domain/providerKind.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';

/** Object without further keys; the error about an unknown key lists the known ones. */
export function strictObject<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? `only ${known}` : undefined),
  });
}

export const text = (longest: number) => z.string().min(1).max(longest);

export const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a name of 1 to 64 letters, digits, ".", "_", "-"');

export const modelId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, 'an id of 1 to 128 letters, digits, ".", "_", ":", "/", "-"');

/** The name of an environment variable. Upper case only, so that a secret pasted here is refused. */
export const environmentName = z
  .string()
  .regex(
    /^[A-Z_][A-Z0-9_]{0,127}$/,
    'the name of an environment variable (capitals, digits, "_"), never the secret itself',
  )
  .meta({ id: 'environmentName', description: 'Name of the environment variable that holds the secret.' });

function isServiceUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return (
    url !== undefined &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  );
}

/** Address of a service, given by the operator. */
export const serviceUrl = z
  .string()
  .max(2048)
  .refine(isServiceUrl, 'an http or https URL without user, password or fragment')
  .meta({ id: 'serviceUrl', format: 'uri' });

const HOST_AND_PORT = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):([0-9]{1,5})$/;

function isHostAndPort(value: string): boolean {
  const port = Number(HOST_AND_PORT.exec(value)?.[1] ?? 0);
  return port >= 1 && port <= 65_535;
}

export const hostAndPort = z
  .string()
  .max(300)
  .regex(HOST_AND_PORT, 'host:port, e.g. "127.0.0.1:9000" or "[::1]:9000"')
  .refine(isHostAndPort, 'host:port with a port from 1 to 65535');

function isWebOrigin(value: string): boolean {
  if (value === '*') return true;
  if (/^https?:/i.test(value)) return URL.canParse(value) && new URL(value).origin === value;
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/.test(value);
}

/** As a browser writes it in `Origin`. */
export const webOrigin = z
  .string()
  .max(300)
  .refine(isWebOrigin, 'an origin such as "https://app.example" without a path, or "*"');

export const filePath = text(4096);

export const count = (least: number, most: number) => z.number().int().min(least).max(most);

/** Milliseconds up to an hour. */
const milliseconds = count(1, 3_600_000);

function isWholeNano(units: number): boolean {
  const nano = nanoFromNumber(units);
  return nano !== undefined && nanoToNumber(nano) === units;
}

/** Amount of whole units. Fractions of nano units are refused, not rounded. */
export const amount = z.number().min(0).max(1_000_000_000).refine(isWholeNano, 'an amount with at most 9 decimals');

/** Price in USD (or bundled credit), and in diem. */
export const price = strictObject({ usd: amount, diem: amount }).meta({
  id: 'price',
  description: 'In whole units: USD (or bundled credit), and diem.',
});

export const timeouts = strictObject({
  connectMs: milliseconds.exactOptional(),
  firstByteMs: milliseconds.exactOptional(),
  idleMs: milliseconds.exactOptional(),
}).meta({
  id: 'timeouts',
  description: 'To connect, to the first byte of the answer, and between two bytes.',
});

/** A kind of provider with the schema of its entries, in which `kind` is a literal. */
export interface ConfigurableKind<Settings extends ProviderSettings = ProviderSettings> extends ProviderKind<Settings> {
  readonly settings: z.ZodType<Settings> & z.core.$ZodTypeDiscriminable;
}

/** In the order in which errors and the published schema name them. */
export type ConfigurableKinds = readonly [ConfigurableKind, ...ConfigurableKind[]];
