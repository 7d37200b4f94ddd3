/** Requests that the key routes refuse: 400 in the documented shape with the field, and no effect. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';
import { ask, create, type ErrorTree, INFERENCE } from './keyClient.ts';

let api: TestApi;
let admin: { secret: string; keyId: string; accountId: string };
let target: { id: string; apiKey: string };
let before: unknown;
beforeAll(async () => {
  api = await startApi();
  admin = await api.newKey('ADMIN');
  target = await create(api, admin.secret, { expiresAt: '2199-01-01', consumptionLimit: { usd: 3 } });
  before = await state();
});
afterAll(async () => {
  expect(await state()).toEqual(before);
  await api.stop();
});

async function state(): Promise<unknown> {
  const { sql } = api.opened.dependencies.core;
  const keys = await sql.query(
    `select id, description, key_type, limit_usd, limit_period, model_privacy, expires_at, revoked_at, secret_hash
      from api_keys order by id`,
  );
  const acts = await sql.query('select count(*) from audit_events');
  return [keys.rows, acts.rows];
}

type Case = [name: string, field: string, change: Record<string, unknown>];

const AMOUNTS: unknown[] = [-1, -0.000000001, 10_000_000_000, 1e308, '5', true, [], {}, 0.0000000001];
const DATES: unknown[] = [
  ...['2001-01-01', '0000-01-01', '0000-00-00', '2199-02-30', '2199-13-01', '2199-00-10', '2199-01-32'],
  ...['+275761-01-01', '275761-01-01', 'NaN', 'never', ' ', '2199-01-01T24:00:00Z', '2199-01-01T00:60:00Z'],
  ...['2199-01-01T00:00:00', '2199-01-01T00:00:00+00:00', '2199-01-01T00:00Z', '2199-01-01T00:00:00.5Z'],
  ...['2199-01-01\n', '2199-1-1', '٢١٩٩-٠١-٠١', 4_102_444_800, true, [], {}, '2199-01-01\u0000'],
];

/** For creating and for changing. */
const BOTH: Case[] = [
  ...AMOUNTS.flatMap((amount): Case[] =>
    ['usd', 'diem', 'vcu'].map((currency) => [
      `${currency} ${JSON.stringify(amount)}`,
      `consumptionLimit.${currency}`,
      { consumptionLimit: { [currency]: amount } },
    ]),
  ),
  ...DATES.map((expiresAt): Case => [`expiry ${JSON.stringify(expiresAt)}`, 'expiresAt', { expiresAt }]),
  ['limits that are a number', 'consumptionLimit', { consumptionLimit: 5 }],
  ['limits that are null', 'consumptionLimit', { consumptionLimit: null }],
  ['limits that are a list', 'consumptionLimit', { consumptionLimit: [1] }],
  ['an unknown currency', 'consumptionLimit', { consumptionLimit: { eur: 1 } }],
  ['65 characters', 'description', { description: 'x'.repeat(65) }],
  ['65 characters of two units', 'description', { description: '𝄞'.repeat(65) }],
  ['a long description', 'description', { description: 'x'.repeat(60_000) }],
  ['a NUL', 'description', { description: 'a\u0000b' }],
  ['half a character', 'description', { description: '\ud834' }],
  ['a description that is null', 'description', { description: null }],
  ['a description that is a number', 'description', { description: 1 }],
  ['an unknown period', 'limitPeriod', { limitPeriod: 'DAY' }],
  ['a period in lower case', 'limitPeriod', { limitPeriod: 'month' }],
  ['an unknown privacy', 'modelPrivacy', { modelPrivacy: 'NONE' }],
  ['a privacy that is null', 'modelPrivacy', { modelPrivacy: null }],
  ...['createdAt', 'accountId', 'revokedAt', 'secretHash', 'last6Chars', 'consumptionLimits', 'usage'].map(
    (field): Case => [`the field ${field}`, '', { [field]: 'x' }],
  ),
];

const CREATE: Case[] = [
  ...BOTH,
  ['no type', 'apiKeyType', { apiKeyType: undefined }],
  ['an unknown type', 'apiKeyType', { apiKeyType: 'ROOT' }],
  ['no description', 'description', { description: undefined }],
  ['an expiry of null', 'expiresAt', { expiresAt: null }],
  ['an id', '', { id: '00000000-0000-4000-8000-000000000000' }],
  ['no model', 'models', { models: [] }],
  ['101 models', 'models', { models: Array(101).fill('local-voice-changer') }],
  ['a model that is a number', 'models.0', { models: [1] }],
  ['a model that there is not', 'models.1', { models: ['local-voice-changer', 'invented'] }],
  ['a model with a NUL', 'models.0', { models: ['local\u0000'] }],
  ['models that are a string', 'models', { models: 'local-voice-changer' }],
  ['models of an ADMIN key', 'models', { apiKeyType: 'ADMIN', models: ['local-voice-changer'] }],
];

const UPDATE: Case[] = [
  ...BOTH,
  ['no id', 'id', { id: undefined }],
  ['an id that is a number', 'id', { id: 1 }],
  ['another type', '', { apiKeyType: 'ADMIN' }],
  ['models', '', { models: ['local-voice-changer'] }],
];

function findings(details: ErrorTree, field: string): string[] | undefined {
  let node: ErrorTree | undefined = details;
  for (const step of field === '' ? [] : field.split('.')) node = node?.[step] as ErrorTree | undefined;
  return node?._errors;
}

async function expectRefused(line: string, body: unknown, field: string): Promise<void> {
  const reply = await ask(api, line, { key: admin.secret, body });
  expect([reply.status, reply.body.error]).toEqual([400, 'Invalid request parameters']);
  expect(findings(reply.body.details, field)).toEqual([expect.any(String)]);
}

describe('the refusals of POST /api_keys', () => {
  it.each(CREATE)('%s', (_name, field, change) => expectRefused('POST /api_keys', { ...INFERENCE, ...change }, field));
});

describe('the refusals of PATCH /api_keys', () => {
  it.each(UPDATE)('%s', (_name, field, change) =>
    expectRefused('PATCH /api_keys', { id: target.id, ...change }, field),
  );
});

describe('the refusals of POST /api_keys/{id}/rotate', () => {
  it.each([
    ['a negative overlap', 'overlapSeconds', { overlapSeconds: -1 }],
    ['more than a week', 'overlapSeconds', { overlapSeconds: 604_801 }],
    ['half a second', 'overlapSeconds', { overlapSeconds: 0.5 }],
    ['text', 'overlapSeconds', { overlapSeconds: '60' }],
    ['null', 'overlapSeconds', { overlapSeconds: null }],
    ['another field', '', { overlap: 1 }],
    ['a list', '', []],
    ['null for a body', '', null],
  ])('%s', (_name, field, body) => expectRefused(`POST /api_keys/${target.id}/rotate`, body, field));
});

describe('the refusals of DELETE /api_keys', () => {
  it.each([
    ['no id', 'DELETE /api_keys', undefined, 'id'],
    ['an id in both places', 'DELETE /api_keys?id=x', { id: 'x' }, 'id'],
    ['two ids', 'DELETE /api_keys?id=x&id=y', undefined, 'id'],
    ['another parameter', 'DELETE /api_keys?key=x', undefined, ''],
    ['an id that is a number', 'DELETE /api_keys', { id: 1 }, 'id'],
    ['another field', 'DELETE /api_keys', { id: 'x', all: true }, ''],
    ['a list', 'DELETE /api_keys', ['x'], ''],
  ])('%s', (_name, line, body, field) => expectRefused(line, body, field));
});

describe('bodies that are not an object of the expected kind', () => {
  it.each([
    ['__proto__', '{"apiKeyType":"INFERENCE","description":"x","__proto__":{"apiKeyType":"ADMIN"}}'],
    ['constructor', '{"apiKeyType":"INFERENCE","description":"x","constructor":{"prototype":{}}}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['text', '"x"'],
    ['1e999', '{"apiKeyType":"INFERENCE","description":"x","consumptionLimit":{"usd":1e999}}'],
  ])('%s is refused', async (_name, body) => {
    for (const line of ['POST /api_keys', 'PATCH /api_keys']) {
      const reply = await ask(api, line, { key: admin.secret, body });
      expect([line, reply.status, reply.body.error]).toEqual([line, 400, 'Invalid request parameters']);
    }
  });

  it.each(['{', 'NaN', '{"description":NaN}', '\u0000'])('%j is refused as invalid JSON', async (body) => {
    for (const line of ['POST /api_keys', 'PATCH /api_keys', 'DELETE /api_keys']) {
      const reply = await ask(api, line, { key: admin.secret, body });
      expect([reply.status, reply.body]).toEqual([400, { error: 'Invalid JSON request' }]);
    }
  });
});
