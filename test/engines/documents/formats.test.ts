/** Text of a document, in cases that the real documents do not cover. */
import { describe, expect, it } from 'vitest';
import { docx, officeParts, xlsx, zip } from './archives.ts';
import { openReader, outcome } from './reader.ts';

const reader = openReader();
const paragraph = (text: string, properties = '') => `<w:p>${properties}<w:r><w:t>${text}</w:t></w:r></w:p>`;

describe('a Word document', () => {
  it('is read with its tracked changes accepted', async () => {
    const body = `<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>`;
    expect(await outcome(reader, docx(body))).toBe('kept new');
  });

  it('contains the text of boxes once', async () => {
    const box = (text: string) => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
    const body = `<w:p><w:r><mc:AlternateContent><mc:Choice>${box('boxed')}</mc:Choice><mc:Fallback>${box('boxed')}</mc:Fallback></mc:AlternateContent></w:r></w:p>`;
    expect(await outcome(reader, docx(body))).toBe('boxed');
  });

  it('keeps a table with cells of several lines', async () => {
    const cell = (...lines: string[]) => `<w:tc>${lines.map((line) => paragraph(line)).join('')}</w:tc>`;
    const rows = [cell('Name') + cell('Price'), cell('Tea', 'Milk|Cream') + cell('1', '2')];
    const table = `<w:tbl>${rows.map((row) => `<w:tr>${row}</w:tr>`).join('')}</w:tbl>`;
    expect(await outcome(reader, docx(table))).toBe(
      '| Name | Price |\n| --- | --- |\n| Tea<br>Milk\\|Cream | 1<br>2 |',
    );
  });

  it('is read with any tag prefix', async () => {
    const main =
      '<ns0:document><ns0:body><ns0:p><ns0:r><ns0:t>A &amp; B &#x263A;</ns0:t></ns0:r></ns0:p></ns0:body></ns0:document>';
    expect(await outcome(reader, zip(officeParts('docx', main)))).toBe('A & B ☺');
  });
});

describe('a workbook', () => {
  const STYLES =
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd;@"/><numFmt numFmtId="165" formatCode="[h]:mm:ss"/><numFmt numFmtId="166" formatCode="#,##0.00 &quot;days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="10"/><xf numFmtId="22"/><xf numFmtId="20"/></cellXfs></styleSheet>';
  it.each([
    ['a day', '<c s="1"><v>45292</v></c>', '2024-01-01'],
    ['a day in a format of its own', '<c s="2"><v>45292</v></c>', '2024-01-01'],
    ['a day before the one that never was', '<c s="1"><v>59</v></c>', '1900-02-28'],
    ['a moment', '<c s="6"><v>45292.75</v></c>', '2024-01-01 18:00:00'],
    ['a time of day', '<c s="7"><v>0.5</v></c>', '12:00:00'],
    ['a duration', '<c s="3"><v>1.5</v></c>', '36:00:00'],
    ['a number with words', '<c s="4"><v>2.5</v></c>', '2.5'],
    ['a share', '<c s="5"><v>0.125</v></c>', '12.5%'],
    ['a sum as people know it', '<c><v>0.30000000000000004</v></c>', '0.3'],
    ['a large number', '<c><v>1234567890123</v></c>', '1234567890123'],
    ['a formula with its result', '<c><f>1+1</f><v>2</v></c>', '2'],
    ['a formula without', '<c><f>SUM(A1:A9)</f></c>', '=SUM(A1:A9)'],
    ['text in place', '<c t="inlineStr"><is><t>in</t><r><t>line</t></r></is></c>', 'inline'],
    ['a truth', '<c t="b"><v>1</v></c>', 'TRUE'],
    ['an error', '<c t="e"><v>#DIV/0!</v></c>', '#DIV/0!'],
    ['lines in a cell', '<c t="str"><v>one\ntwo</v></c>', 'one two'],
    ['cells with a gap', '<c r="B1"><v>1</v></c><c r="D1"><v>2</v></c>', '\t1\t\t2'],
  ])('shows %s', async (_what, cells, shown) => {
    const bytes = xlsx(`<row>${cells}</row>`, [['styles', STYLES]]);
    expect(await outcome(reader, bytes)).toBe(`[Sheet: Data]\n${shown}`);
  });
});

describe('a page', () => {
  it('is read as it is displayed', async () => {
    const page = `<!doctype html><html><head><title>A page</title><style>p{}</style><script>let x = "<p>no</p>";</script></head>
      <body><h1>Fish &amp; chips</h1><p>One <b>bold</b>
      word.<br>Next line.</p><ul><li>first<li>second<ol start="3"><li>third</li></ol></ul>
      <div hidden>not this</div><div style="display: none">nor this</div>
      <table><tr><th>a<th>b<tr><td>1<td><p>2</p><p>3</p></table>
      <pre>  kept
   as is</pre><img src="x" alt="A boat"></body></html>`;
    expect(await outcome(reader, Buffer.from(page), 'page.html')).toBe(
      [
        'A page',
        '# Fish & chips',
        'One bold word.\nNext line.',
        '- first\n- second\n  3. third',
        '| a | b\n| 1 | 2 3',
        '  kept\n   as is',
        '[A boat]',
      ].join('\n\n'),
    );
  });
});

describe('an e-book', () => {
  const container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>';
  const spine =
    '<package><manifest><item id="b" href="b%201.xhtml"/><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>';
  const chapter = (text: string) =>
    `<!DOCTYPE html><html><head><title>no</title></head><body><p>${text}</p></body></html>`;
  const parts = [
    { name: 'mimetype', content: 'application/epub+zip' },
    { name: 'META-INF/container.xml', content: container },
    { name: 'OEBPS/book.opf', content: spine },
    { name: 'OEBPS/a.xhtml', content: chapter('first') },
    { name: 'OEBPS/b 1.xhtml', content: chapter('second') },
  ];

  it('is read in reading order', async () => {
    expect(await outcome(reader, zip(parts))).toBe('first\n\nsecond');
  });

  it('with encryption is refused with that reason', async () => {
    const locked = '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>';
    const bytes = zip([...parts, { name: 'META-INF/encryption.xml', content: locked }]);
    expect(await outcome(reader, bytes)).toBe('refused: protected');
  });
});
