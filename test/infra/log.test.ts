import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FareboxError } from '../../domain/errors.ts';
import { createLogger, scrub } from '../../infra/log.ts';
import { MAX_HOSTILE_MS, ranMs } from '../harness/stall.ts';

function logged(work: (log: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  const lines: string[] = [];
  work(createLogger({ level: 'debug', name: 'test', destination: { write: (line) => lines.push(line) } }));
  return JSON.parse(lines.join('')) as Record<string, unknown>;
}

describe('the log', () => {
  it('keeps the listed fields, and names the fields that it drops', () => {
    const line = logged((log) => log.info({ route: '/x', prompt: 'private', headers: { a: 1 } }, 'words'));
    expect(line).toMatchObject({
      service: 'test',
      level: 'info',
      route: '/x',
      msg: 'words',
      dropped: ['prompt', 'headers'],
    });
    expect(JSON.stringify(line)).not.toContain('private');
  });

  it("contains an error's name, message, code, stack and causes, and none of its other properties", () => {
    const cause = Object.assign(new Error('deep'), { code: 'ECONNRESET', config: { headers: 'private' } });
    const err = Object.assign(new Error('outer', { cause }), {
      parameters: ['private'],
      internal: 'inner words',
    });
    const line = logged((log) => log.error({ err }));
    expect(line.err).toMatchObject({
      type: 'Error',
      message: 'outer',
      detail: 'inner words',
      stack: expect.stringContaining('log.test.ts'),
      cause: { message: 'deep', code: 'ECONNRESET' },
    });
    expect(JSON.stringify(line)).not.toContain('private');
  });

  it('contains the code and detail of a client error, but not its message, which may quote the request', () => {
    const cause = new FareboxError({ code: 'provider_refused', message: 'private words of a provider' });
    const message = 'private\n    at private';
    const err = new FareboxError({ code: 'invalid_request', message, internal: 'HTTP 400', cause });
    const line = logged((log) => log.error({ err }));
    expect(line.err).toMatchObject({
      ...{ type: 'FareboxError', message: 'invalid_request', code: 'invalid_request', detail: 'HTTP 400' },
      stack: expect.stringContaining('log.test.ts'),
      cause: { message: 'provider_refused' },
    });
    expect(JSON.stringify(line)).not.toContain('private');
    expect(JSON.stringify(logged((log) => log.error(err)))).not.toContain('private');
  });

  it('contains the codes of schema issues, without any field or value of the request', () => {
    const { error } = z.strictObject({ a: z.enum(['b']) }).safeParse({ a: 'private', private: 1 });
    const err = new FareboxError({ code: 'invalid_request', message: 'Invalid', cause: error });
    const line = logged((log) => log.debug({ err }));
    expect(line.err).toMatchObject({ cause: { message: 'invalid_value, unrecognized_keys' } });
    expect(JSON.stringify(line)).not.toContain('private');
  });

  it('survives an error that is its own cause, and a value that is not an error', () => {
    const err: Error & { cause?: unknown } = new Error('round');
    err.cause = err;
    expect(logged((log) => log.error({ err })).err).toMatchObject({ message: 'round' });
    expect(logged((log) => log.error({ err: 'text' })).err).toBe('text');
  });

  it.each([
    ['key FAREBOX_ADMIN_KEY_abc-_1 here', 'key FAREBOX_ADMIN_KEY_… here'],
    ['Authorization: Bearer abc.def', 'Authorization: Bearer …'],
    ['https://user:pass@host.example/a?token=1#x y', 'https://…@host.example/a?… y'],
    ['postgres://u:p@127.0.0.1:5/db?sslmode=1', 'postgres://…@127.0.0.1:5/db?…'],
    ['an image data:image/png;base64,AAAA== end', 'an image data:… end'],
    ['a plain question? yes', 'a plain question? yes'],
    ['GET https://host.example/path', 'GET https://host.example/path'],
  ])('scrubs %j', (text, expected) => {
    expect(scrub(text)).toBe(expected);
  });

  it('scrubs a hostile text in linear time', () => {
    const startMs = ranMs();
    for (const piece of ['Bearer ', 'a://', 'data:', 'FAREBOX_ADMIN_KEY_', 'a', 'https://x@', ' '])
      scrub(piece.repeat(50_000));
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});
