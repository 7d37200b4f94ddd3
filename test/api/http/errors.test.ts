import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../../api/http/answer.ts';
import { errorAnswer } from '../../../api/http/errors.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { ERROR_CODES, type ErrorCode, FareboxError } from '../../../domain/errors.ts';
import { startApi, type TestApi } from '../startApi.ts';

const raise = defineRoute({
  method: 'POST',
  path: '/test/raise',
  access: 'open',
  body: { json: { schema: z.strictObject({ code: z.string() }), maxBytes: 1_000 } },
  async handler(_dependencies, { body }) {
    if (body.code === 'crash') throw new Error('secret FAREBOX_ADMIN_KEY_abc at https://x.example/y?token=1');
    if (body.code === 'nothing') throw undefined;
    throw new FareboxError({
      code: body.code as ErrorCode,
      message: `words of ${body.code}`,
      internal: 'internals',
    });
  },
});

const shaped = defineRoute({
  method: 'POST',
  path: '/test/shaped/{id}',
  access: 'open',
  query: z.strictObject({ page: z.coerce.number().int().max(9).optional() }),
  body: {
    needsModel: true,
    json: {
      maxBytes: 20_000,
      schema: z.strictObject({
        model: z.string(),
        voice: z.enum(['alto', 'bass']).optional(),
        seed: z.int().min(0).optional(),
        nested: z.strictObject({ list: z.array(z.strictObject({ a: z.number() })).max(3) }).optional(),
      }),
    },
  },
  handler: async (_dependencies, { body, params, query }) => json({ body, params, query }),
});

const slow = defineRoute({
  method: 'GET',
  path: '/test/slow',
  access: 'open',
  deadlineMs: 100,
  handler: async (_dependencies, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return json({});
  },
});

const branded = defineRoute({
  method: 'GET',
  path: '/test/branded',
  access: 'open',
  handler: async () => json({}, { headers: { 'x-service-model-id': 'm', 'X-Service-Cost': '1' } }),
});

let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    routes: [raise, shaped, slow, branded],
    config: (config) => ({
      ...config,
      brand: { name: 'service', aliases: ['acme', 'other'], systemPrompt: '' },
    }),
  });
});
afterAll(() => api.stop());

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await api.call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

describe('error codes with their status and body', () => {
  const STATUS: Record<ErrorCode, number> = {
    ...{ invalid_request: 400, invalid_json: 400, invalid_content_type: 400, invalid_source: 400 },
    ...{ unsupported_feature: 400, context_length_exceeded: 400, malformed_encryption: 400 },
    invalid_document: 400,
    ...{ blocked_source: 400, page_failed: 400 },
    ...{ invalid_media: 400, media_too_long: 422, payload_too_large: 413, body_too_large: 413 },
    ...{
      credential_missing: 402,
      credential_invalid: 401,
      credential_ambiguous: 400,
      admin_key_required: 401,
    },
    ...{ forbidden: 403, insufficient_balance: 402, key_limit_exceeded: 402, model_not_found: 404 },
    ...{
      model_offline: 503,
      character_not_found: 404,
      request_id_invalid: 400,
      media_not_found: 404,
      route_not_found: 404,
    },
    ...{ method_not_allowed: 405, conflict: 409, idempotency_mismatch: 400, rate_limited: 429 },
    ...{
      provider_refused: 422,
      provider_failed: 500,
      upstream_failed: 502,
      provider_busy: 503,
      provider_unknown: 504,
    },
    ...{ timed_out: 504, cancelled: 409, unavailable: 503, internal: 500 },
  };

  it.each(ERROR_CODES)('%s', async (code) => {
    const { status, body } = await post('/test/raise', { code });
    const error = `words of ${code}`;
    const special: Partial<Record<ErrorCode, unknown>> = {
      payload_too_large: { code: 'PAYLOAD_TOO_LARGE', error },
      rate_limited: { error, customMessage: error },
      context_length_exceeded: {
        error: { message: error, type: 'invalid_request_error', param: 'messages', code },
      },
      malformed_encryption: { error: { message: error, type: 'invalid_request_error' } },
    };
    expect({ status, body }).toEqual({ status: STATUS[code], body: special[code] ?? { error } });
  });

  it('answers an unknown error in generic words, and logs everything but secrets', async () => {
    const { status, body, headers } = await post('/test/raise', { code: 'crash' });
    expect({ status, body }).toEqual({ status: 500, body: { error: 'Internal server error' } });
    const requestId = headers.get('x-request-id') ?? '';
    expect(requestId).toMatch(/^[0-9a-f]{32}$/);
    const lines = api.log.filter((line) => line.includes(requestId)).join('\n');
    expect(lines).toContain('test/api/http/errors.test.ts');
    expect(lines).toContain('https://x.example/y?…');
    expect(lines).not.toContain('token=1');
    expect(lines).not.toContain('KEY_abc');
    expect((await post('/test/raise', { code: 'nothing' })).status).toBe(500);
  });

  it('has a Retry-After', () => {
    const error = new FareboxError({ code: 'unavailable', message: 'later', retryAfterSeconds: 1.2 });
    expect(errorAnswer(error).headers).toEqual({ 'Retry-After': '2' });
  });
});

describe('an invalid request', () => {
  it.each([
    ['a missing model', {}, { error: 'model is required' }],
    ['an empty model', { model: '' }, { error: 'model is required' }],
    ['a null model', { model: null }, { error: 'model is required' }],
    ['a model that is no string', { model: 7 }, { error: 'model must be a string' }],
    ['a broken body', '{"model":', { error: 'Invalid JSON request' }],
    ['an empty body', '', { error: 'Invalid JSON request' }],
    ['two values', '{} {}', { error: 'Invalid JSON request' }],
  ])('%s: 400', async (_name, body, expected) => {
    const answer = await post('/test/shaped/1', body);
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 400, body: expected });
  });

  it('names each wrong field in details and issues', async () => {
    const sent = { model: 'm', voice: 'tenor', seed: -1, nested: { list: [{ a: 'x' }] }, extra: 1 };
    const { status, body } = await post('/test/shaped/1', sent);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: 'Invalid request parameters',
      details: {
        _errors: ["Unrecognized key(s) in object: 'extra'"],
        voice: { _errors: [expect.any(String)] },
        seed: { _errors: [expect.any(String)] },
        nested: {
          _errors: [],
          list: { _errors: [], 0: { _errors: [], a: { _errors: [expect.any(String)] } } },
        },
      },
    });
    const { issues } = body as { issues: { code: string; path: string[]; message: string }[] };
    expect(issues.map(({ code }) => code).sort()).toEqual(
      ['invalid_enum_value', 'invalid_type', 'too_small', 'unrecognized_keys'].sort(),
    );
    expect(JSON.stringify(body)).not.toContain('tenor');
  });

  it('reports an invalid query in the same shape', async () => {
    const { status, body } = await post('/test/shaped/1?page=10', { model: 'm' });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { details: { page: { _errors: [expect.any(String)] } } },
    });
    expect((await post('/test/shaped/1?page=1&page=2', { model: 'm' })).status).toBe(400);
    expect((await post('/test/shaped/1?__proto__=2', { model: 'm' })).status).toBe(400);
  });

  it('treats __proto__ as an unknown field', async () => {
    const { status, body } = await post('/test/shaped/1', '{"model":"m","__proto__":{"polluted":1}}');
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { details: { _errors: [expect.stringContaining('__proto__')] } },
    });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    const nested = await post('/test/shaped/1', '{"model":"m","constructor":{"prototype":{"polluted":1}}}');
    expect(nested.status).toBe(400);
  });

  it('gets a short answer for a thousand unknown fields', async () => {
    const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, 1]));
    const { status, body } = await post('/test/shaped/1', { model: 'm', ...fields });
    expect(status).toBe(400);
    expect(JSON.stringify(body).length).toBeLessThan(5_000);
  });

  it.each([
    ['text/plain', 400],
    ['application/x-www-form-urlencoded', 400],
    ['', 400],
    ['application/json; charset=latin1', 400],
    ['multipart/form-data; boundary=x', 400],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
    ['application/vnd.api+json', 200],
  ])('Content-Type %j: %i', async (type, status) => {
    const answer = await post('/test/shaped/1', { model: 'm' }, { 'content-type': type });
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body).toEqual({ error: "'Content-Type' must be 'application/json'" });
  });

  it('is refused with a compressed body', async () => {
    expect((await post('/test/shaped/1', { model: 'm' }, { 'content-encoding': 'gzip' })).status).toBe(400);
  });

  it('gets 413 for a body above the limit of its route', async () => {
    const { status, body } = await post('/test/shaped/1', { model: 'm'.repeat(20_000) });
    expect({ status, body }).toEqual({
      status: 413,
      body: { error: 'Request body exceeds the maximum allowed size.' },
    });
  });

  it('gets 404 for an unknown path, and 405 with Allow for another method', async () => {
    for (const path of ['/nothing', '/test/shaped', '/test/shaped/1/2', '/Billing/balance']) {
      const { status, body } = await post(path, {});
      expect({ status, body }).toEqual({ status: 404, body: { error: expect.any(String) } });
    }
    const { status, body, headers } = await post('/billing/balance', {});
    expect({ status, body }).toEqual({ status: 405, body: { error: expect.any(String) } });
    expect(headers.get('allow')).toBe('HEAD, GET');
  });

  it('has its path parameters decoded, unless they are malformed', async () => {
    expect((await post('/test/shaped/a%20b', { model: 'm' })).body).toMatchObject({ params: { id: 'a b' } });
    expect((await post('/test/shaped/%E0%A4%A', { model: 'm' })).body).toMatchObject({
      params: { id: '%E0%A4%A' },
    });
  });

  it('gets 504 after the deadline of its route, whose handler is aborted', async () => {
    const response = await api.call('/test/slow');
    expect(response.status).toBe(504);
    await expect.poll(() => api.inFlight.count).toBe(0);
  });
});

describe('headers of every answer', () => {
  it('carry the request id, nosniff and no-store, whatever the status', async () => {
    for (const path of ['/test/branded', '/nothing', '/billing/balance']) {
      const { headers } = await api.call(path);
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('repeat our own headers under each alias', async () => {
    const { headers } = await api.call('/test/branded');
    for (const name of ['service', 'acme', 'other']) {
      expect(headers.get(`x-${name}-model-id`)).toBe('m');
      expect(headers.get(`x-${name}-cost`)).toBe('1');
    }
  });

  it('match one log line per request, without the URL', async () => {
    const response = await api.call('/test/branded?q=private-thing');
    await response.text();
    const requestId = response.headers.get('x-request-id') ?? '';
    await expect.poll(() => api.log.filter((line) => line.includes(requestId))).toHaveLength(1);
    const line = JSON.parse(api.log.find((text) => text.includes(requestId)) ?? '{}');
    expect(line).toMatchObject({
      level: 'info',
      service: 'api',
      method: 'GET',
      route: '/test/branded',
      status: 200,
    });
    expect(api.log.join()).not.toContain('private-thing');
  });
});
