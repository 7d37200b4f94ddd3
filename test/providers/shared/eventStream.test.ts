import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamParser, FrameTooLong } from '../../../providers/shared/eventStream.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';

function parse(pieces: readonly Buffer[]): string[] {
  const parser = new EventStreamParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

const read = (text: string) => parse([Buffer.from(text)]);

describe('an event stream', () => {
  it.each([
    ['data: a\n\n', ['a']],
    ['data:a\n\n', ['a']],
    ['data:  a\n\n', [' a']],
    ['data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['data: a\r\rdata: b\r\r', ['a', 'b']],
    ['data: a\ndata: b\n\n', ['a\nb']],
    ['data\ndata: b\n\n', ['\nb']],
    ['data:\n\n', ['']],
    [': keep-alive\n\ndata: a\n\n: more\n\n', ['a']],
    ['event: message\nid: 7\nretry: 10\ndata: a\n\n', ['a']],
    ['event: message\n\n', []],
    ['\uFEFFdata: a\n\n', ['a']],
    ['data: a\n', ['a']],
    ['data: a', ['a']],
    ['data: {"x":"\uFEFF🦀"}\n\n', ['{"x":"\uFEFF🦀"}']],
    ['<html>\n<body>\n\n</html>', []],
    ['', []],
  ])('%j', (text, events) => {
    expect(read(text)).toEqual(events);
  });

  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
    fc.constantFrom('data:', 'data', ': ping', 'event: x', '', '', 'data: 漢字🦀é', 'data:{"a":"\\n"}'),
  );
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 30 });

  it('yields the same events however its bytes are cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 40 }), fc.boolean(), (lines, cuts, marked) => {
        const bytes = Buffer.from((marked ? '\uFEFF' : '') + lines.map((each) => each.join('')).join(''));
        const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const pieces = [0, ...at].map((from, place) => bytes.subarray(from, at[place] ?? bytes.length));
        expect(parse(pieces)).toEqual(parse([bytes]));
        expect(parse([...bytes].map((byte) => Buffer.of(byte)))).toEqual(parse([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  it('yields an event as soon as its blank line arrives', () => {
    const parser = new EventStreamParser();
    expect(parser.push(Buffer.from('data: a\n'))).toEqual([]);
    expect(parser.push(Buffer.from('\n'))).toEqual(['a']);
    expect(parser.push(Buffer.from('data: b\r\n\r'))).toEqual(['b']);
    expect(parser.push(Buffer.from('\ndata: c\r\r'))).toEqual(['c']);
  });

  it.each([
    ['a line', `data: ${'x'.repeat(1_100)}`],
    ['the lines of an event', `data: ${'x'.repeat(90)}\n`.repeat(12)],
  ])('ends at %s that is too long', (_what, text) => {
    const parser = new EventStreamParser(1_000);
    expect(() => {
      for (let at = 0; at < text.length; at += 100) parser.push(Buffer.from(text.slice(at, at + 100)));
    }).toThrow(FrameTooLong);
  });

  it('reads a line of many chunks in linear time', () => {
    const parser = new EventStreamParser();
    const piece = Buffer.alloc(1_024, 'x');
    parser.push(Buffer.from('data: '));
    const startMs = ranMs();
    for (let at = 0; at < 7_000; at += 1) parser.push(piece);
    expect(parser.push(Buffer.from('\n\n'))[0]).toHaveLength(7_000 * 1_024);
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});
