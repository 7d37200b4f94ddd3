/** Hostile documents, all made here: none is in the repository. */
import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MAX_TURN_MS, measureStall } from '../../harness/stall.ts';
import { docx, officeParts, pdf, xlsx, zip } from './archives.ts';
import { openReader, outcome } from './reader.ts';

const WHOLE = docx('<w:p><w:r><w:t>whole</w:t></w:r></w:p>');
// Long enough for a busy machine, so that it is not the time that refuses them.
const reader = openReader({ timeoutMs: 100_000 });

/** Outcome of a document; the next document must then be read as usual. */
async function end(bytes: Buffer, filename?: string): Promise<string> {
  const stall = measureStall();
  const ended = await outcome(reader, bytes, filename).finally(() => stall.stop());
  // A parser in this process would block it for seconds.
  expect(stall.longestMs()).toBeLessThan(4 * MAX_TURN_MS);
  expect(await outcome(reader, WHOLE)).toBe('whole');
  return ended;
}

it.each([
  [
    'a workbook with a cell',
    xlsx(`<row r="1"><c r="A1" t="inlineStr"><is><t>a${' '.repeat(1_000_000)}b</t></is></c></row>`),
  ],
  [
    'a document with a heading',
    docx(
      `<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t xml:space="preserve">a${' '.repeat(1_000_000)}b</w:t></w:r></w:p>`,
    ),
  ],
  [
    'a document with a table',
    docx(
      `<w:tbl><w:tr><w:tc><w:p><w:r><w:t xml:space="preserve">a${' '.repeat(1_000_000)}b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`,
    ),
  ],
])('reads %s of a million blanks', async (_name, bytes) => {
  expect(bytes.length).toBeLessThan(10_000);
  expect(await end(bytes)).toMatch(/a +b/);
});

describe('an archive', () => {
  it('that unpacks to more than the limit is refused by its true size', async () => {
    const spaces = Buffer.alloc(101 * 1024 * 1024, ' ');
    expect(await end(zip(officeParts('docx', spaces)))).toBe('refused: too_large');
  });

  it('that declares less than its true size is refused', async () => {
    const parts = officeParts('docx', '<w:p/>'.repeat(1_000_000));
    expect(await end(zip(parts.map((part) => ({ ...part, declaredBytes: 300 }))))).toBe('refused: damaged');
  });

  it('with overlapping parts is refused', async () => {
    const kernel = Buffer.alloc(10_000_000, 'a');
    const shared = Array.from({ length: 100 }, (_, index) => ({
      name: `${index}`,
      content: '',
      declaredOffset: 0,
    }));
    expect(await end(zip([{ name: 'kernel', content: kernel }, ...shared]))).toBe('refused: damaged');
  });

  it('with very many parts is refused', async () => {
    const parts = Array.from({ length: 5_001 }, (_, index) => ({ name: `${index}`, content: '' }));
    expect(await end(zip(parts))).toBe('refused: too_large');
  });

  it('within an archive is not opened', async () => {
    let nested = WHOLE;
    for (let depth = 0; depth < 20; depth += 1) nested = zip([{ name: 'inner.docx', content: nested }]);
    expect(await end(nested)).toBe('refused: unsupported');
  });

  it('with encrypted parts is reported as locked', async () => {
    const parts = officeParts('docx', '<w:document/>').map((part) => ({ ...part, flags: 1 }));
    expect(await end(zip(parts))).toBe('refused: protected');
  });

  it('cut at any place is refused', async () => {
    for (const share of [0.1, 0.5, 0.9, 0.99]) {
      expect(await outcome(reader, WHOLE.subarray(0, WHOLE.length * share))).toBe('refused: damaged');
    }
  });
});

const LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>';

describe('markup', () => {
  it('of an Office document may not define entities', async () => {
    const main = `${LAUGHS}<w:document><w:body><w:p><w:r><w:t>&c;</w:t></w:r></w:p></w:body></w:document>`;
    expect(await end(zip(officeParts('docx', main)))).toBe('refused: damaged');
    const slides = `${LAUGHS}<p:presentation>&c;</p:presentation>`;
    expect(await end(zip(officeParts('pptx', slides)))).toBe('refused: damaged');
    const rows = `${LAUGHS}<row><c t="str"><v>&c;</v></c></row>`;
    expect(await end(xlsx(rows))).toBe('refused: damaged');
  });

  it('of a page or an image keeps its entities as text', async () => {
    const page = await end(Buffer.from(`${LAUGHS}<html><p>so &c;</p></html>`), 'page.html');
    expect(page).toContain('so &c;');
    expect(page).not.toContain('haha');
    const picture = `${LAUGHS}<svg><text>&c;</text></svg>`;
    expect(await end(Buffer.from(picture), 'picture.svg')).toBe(picture);
  });

  it('with a million nested tags is refused', async () => {
    expect(await end(Buffer.from(`<html>${'<div>'.repeat(1_000_000)}x`), 'deep.html')).toBe('refused: too_complex');
    expect(await end(docx('<w:tbl><w:tr><w:tc>'.repeat(1_000_000)))).toBe('refused: too_complex');
  });

  it('of tables in tables is read', async () => {
    const text = '<w:p><w:r><w:t>inside</w:t></w:r></w:p>';
    const deep = `${'<w:tbl><w:tr><w:tc>'.repeat(500)}${text}${'</w:tc></w:tr></w:tbl>'.repeat(500)}`;
    expect(await end(docx(deep))).toContain('inside');
  });

  it('of one endless tag, entity or comment ends in time', async () => {
    for (const endless of ['<', '&', '<!--', '<p a=1 ', '</p>']) {
      const bytes = Buffer.from(`<html>${endless.repeat(10_000_000 / endless.length)}`);
      expect(await end(bytes, 'endless.html')).toMatch(/^refused: (no_text|too_much_text|too_complex)$/);
    }
  });
});

describe('a workbook', () => {
  it('with millions of cells is refused, not cut', async () => {
    const row = `<row>${'<c><v>1</v></c>'.repeat(20)}</row>`;
    expect(await end(xlsx(row.repeat(150_000)))).toBe('refused: too_much_text');
  });

  it('with empty or distant cells ends in time', async () => {
    expect(await end(xlsx(`<row>${'<c/>'.repeat(5_000_000)}</row>`))).toBe('refused: no_text');
    const far = await end(xlsx('<row><c r="XFD9"><v>1</v></c><c r="ZZZZZZZ9"><v>2</v></c></row>'.repeat(10)));
    expect(far.length).toBeLessThan(2_000);
  });

  it('that repeats a long text a million times is refused', async () => {
    const strings = `<sst><si><t>${'x'.repeat(1_000_000)}</t></si></sst>`;
    const row = '<row><c t="s"><v>0</v></c></row>';
    expect(await end(xlsx(row.repeat(1_000_000), [['sharedStrings', strings]]))).toBe('refused: too_much_text');
  });
});

const PAGE = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<>>>>';
const CATALOGUE = '<</Type/Catalog/Pages 2 0 R>>';

function withStream(packed: Buffer, filter: string): Buffer {
  const stream = [
    Buffer.from(`<</Length ${packed.length}/Filter${filter}>>stream\n`),
    packed,
    Buffer.from('\nendstream'),
  ];
  return pdf([CATALOGUE, '<</Type/Pages/Kids[3 0 R]/Count 1>>', PAGE, Buffer.concat(stream)]);
}

describe('a PDF', () => {
  it('with pages that contain themselves is refused', async () => {
    expect(await end(pdf([CATALOGUE, '<</Type/Pages/Kids[2 0 R]/Count 100>>']))).toBe('refused: damaged');
    const ring = [2, 3].map((other) => `<</Type/Pages/Kids[${5 - other} 0 R ${5 - other} 0 R]/Count 4000>>`);
    expect(await end(pdf([CATALOGUE, ...ring.reverse()]))).toBe('refused: damaged');
  });

  it('that claims a million pages is refused', async () => {
    expect(await end(pdf([CATALOGUE, '<</Type/Pages/Kids[3 0 R]/Count 1000000>>', PAGE]))).toMatch(/^refused: /);
  });

  it('with a page that unpacks without end is stopped by its limits', async () => {
    // Compressed twice: 30 kB become a gigabyte.
    const zeros = deflateSync(deflateSync(Buffer.alloc(1_000_000_000), { level: 9 }), { level: 9 });
    expect(await end(withStream(zeros, '[/FlateDecode/FlateDecode]'))).toMatch(/^refused: (too_complex|no_text)$/);
  });

  it('that is cut or only started is refused', async () => {
    const whole = withStream(deflateSync(Buffer.from('BT ET')), '/FlateDecode');
    for (const share of [0.05, 0.3]) {
      expect(await outcome(reader, whole.subarray(0, whole.length * share))).toMatch(/^refused: (damaged|no_text)$/);
    }
  });
});
