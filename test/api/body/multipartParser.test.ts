import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MultipartParser } from '../../../api/body/multipartParser.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';

interface Part {
  name: string;
  filename?: string | undefined;
  bytes: Buffer;
}

function parse(body: Buffer, chunkBytes: number, boundary = 'B') {
  const parser = new MultipartParser(boundary);
  const parts: Part[] = [];
  for (let from = 0; from < body.length; from += chunkBytes) {
    for (const event of parser.push(body.subarray(from, from + chunkBytes))) {
      if (event.kind === 'malformed') return { malformed: event.reason };
      const last = parts.at(-1);
      if (event.kind === 'part') parts.push({ ...event.head, bytes: Buffer.alloc(0) });
      else if (event.kind === 'data' && last) last.bytes = Buffer.concat([last.bytes, event.bytes]);
    }
  }
  return parser.finished ? { parts } : { malformed: 'not finished' };
}

const compose = (boundary: string, parts: Part[]) =>
  Buffer.concat([
    ...parts.flatMap(({ name, filename, bytes }) => [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"`),
      Buffer.from(filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: audio/wav`),
      Buffer.from('\r\n\r\n'),
      bytes,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);

describe('the multipart parser', () => {
  it('returns every byte of every part, for any chunk sizes and contents', () => {
    const fragment = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.constantFrom('\r', '\n', '\r\n', '\r\n-', '\r\n--', '\r\n--B', '--B--', '\r\n--Bx', '-').map(Buffer.from),
    );
    const bytes = fc
      .array(fragment, { maxLength: 12 })
      .map((fragments) => Buffer.concat(fragments))
      // Contents with the boundary would be another body.
      .filter((buffer) => !Buffer.concat([Buffer.from('\r\n'), buffer, Buffer.from('\r\n')]).includes('\r\n--BBB'));
    const part = fc.record({
      name: fc.stringMatching(/^[a-z]{1,8}$/),
      filename: fc.option(fc.stringMatching(/^[a-z .]{0,8}$/), { nil: undefined }),
      bytes,
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 60 }), (parts, cut) => {
        const outcome = parse(compose('BBB', parts), cut, 'BBB');
        expect(outcome.parts?.map(({ name, bytes: got }) => [name, got.toString('hex')])).toEqual(
          parts.map(({ name, bytes: sent }) => [name, sent.toString('hex')]),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  const part = (headers: string, body = 'x') => `--B\r\n${headers}\r\n\r\n${body}\r\n--B--\r\n`;
  it.each([
    ['nothing at all', ''],
    ['no boundary at the start', 'hello--B\r\n'],
    ['a preamble', `preamble\r\n${part('Content-Disposition: form-data; name="a"')}`],
    ['no final boundary', '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--B\r\n'],
    ['a body that breaks off in the headers', '--B\r\nContent-Disposition: form-d'],
    ['no headers', '--B\r\n\r\nx\r\n--B--\r\n'],
    ['no Content-Disposition', part('Content-Type: text/plain')],
    ['another disposition', part('Content-Disposition: attachment; name="a"')],
    ['no name', part('Content-Disposition: form-data')],
    ['an empty name', part('Content-Disposition: form-data; name=""')],
    ['two names', part('Content-Disposition: form-data; name="a"; name="b"')],
    ['an open quote', part('Content-Disposition: form-data; name="a')],
    ['rubbish after the name', part('Content-Disposition: form-data; name="a" b')],
    ['a header twice', part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"')],
    ['a folded header', part('Content-Disposition: form-data;\r\n name="a"')],
    ['a header without colon', part('Content-Disposition: form-data; name="a"\r\nnothing')],
    ['a NUL in a header', part('Content-Disposition: form-data; name="a\0b"')],
    ['a bare line feed in a header', part('Content-Disposition: form-data; name="a"\nX: y')],
    ['base64', part('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64')],
    ['headers of 5 kB', part(`Content-Disposition: form-data; name="a"\r\nX: ${'y'.repeat(5_000)}`)],
    ['headers without an end', `--B\r\n${'y'.repeat(100_000)}`],
    ['text after a boundary', '--Bx\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--B--\r\n'],
    ['33 parts', `${'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(33)}--B--`],
  ])('refuses %s', (_name, body) => {
    for (const cut of [1, 7, 1_000_000]) {
      expect(parse(Buffer.from(body), cut).malformed).toEqual(expect.any(String));
    }
  });

  it.each([
    ['7bit', part('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: 7bit')],
    ['a field with a type', part('Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain')],
    ['no quotes', part('content-disposition: form-data; name=a')],
    ['an escaped quote', part('Content-Disposition: form-data; name="a\\"b"')],
    ['an epilogue', `${part('Content-Disposition: form-data; name="a"')}anything`],
    ['no line break at the end', part('Content-Disposition: form-data; name="a"').trimEnd()],
  ])('accepts %s', (_name, body) => {
    for (const cut of [1, 7, 1_000_000]) expect(parse(Buffer.from(body), cut).parts).toHaveLength(1);
  });

  it('parses a hostile header in linear time', () => {
    const spaces = ' '.repeat(3_900);
    const startMs = ranMs();
    for (const header of [
      `a:${spaces}x`,
      `Content-Disposition: form-data; name=${'"\\'.repeat(1_900)}`,
      `x${spaces}:`,
    ]) {
      parse(Buffer.from(part(header)), 4_096);
    }
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});
