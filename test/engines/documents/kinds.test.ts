/** The bytes of a document decide its kind; the name helps if they cannot. */
import { describe, expect, it } from 'vitest';
import { docx, zip } from './archives.ts';
import { openReader, outcome } from './reader.ts';

const reader = openReader();
const kindOf = async (content: string | Buffer, filename?: string, claimedType?: string) => {
  const document = {
    bytes: Buffer.from(content),
    ...(filename && { filename }),
    ...(claimedType && { claimedType }),
  };
  return (await reader.read(document)).kind;
};

describe('the kind of a document', () => {
  it.each([
    ['a,b\n1,2', 'table.csv', undefined, 'csv'],
    ['a,b\n1,2', undefined, 'text/csv; charset=utf-8', 'csv'],
    ['# Title', 'README.md', undefined, 'markdown'],
    ['{"a": 1}', 'data.json', undefined, 'json'],
    ['const a = 1;', 'source.ts', undefined, 'text'],
    ['%PDF is how such a file begins', 'notes.txt', undefined, 'text'],
    ['BM is also how a bitmap begins', undefined, undefined, 'text'],
    ['<!doctype html><p>Hello', undefined, undefined, 'html'],
    ['<?xml version="1.0"?>\n<html><p>Hello</p></html>', undefined, undefined, 'html'],
    ['<html><?php echo 1 ?> Hello', 'page.php', undefined, 'text'],
    ['plain words', 'fake.pdf', 'application/pdf', 'text'],
  ])('%j named %s, declared as %s: %s', async (content, filename, claimedType, kind) => {
    expect(await kindOf(content, filename, claimedType)).toBe(kind);
  });

  it('of an Office document does not depend on its name', async () => {
    expect(await kindOf(docx('<w:p><w:r><w:t>x</w:t></w:r></w:p>'), 'photo.png', 'image/png')).toBe('docx');
  });

  it('of an image is recognised under any name', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    expect(await reader.read({ bytes: png, filename: 'scan.pdf' })).toEqual({
      kind: 'image',
      mediaType: 'image/png',
    });
  });
});

describe('the reason of a refusal', () => {
  const oldOffice = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]);
  it.each([
    ['a recording', Buffer.from('fffb9000000000000000', 'hex'), 'type that cannot be read; PDF, DOCX'],
    ['a program', Buffer.from('7f454c4602010100000000', 'hex'), 'type that cannot be read'],
    ['an archive', zip([{ name: 'a.txt', content: 'a' }]), 'type that cannot be read'],
    ['rich text', Buffer.from('{\\rtf1 hello}'), 'type that cannot be read'],
    ['a document of old', oldOffice, 'save it as DOCX'],
    ['nothing', Buffer.alloc(0), 'contains no text'],
    ['only blanks', Buffer.from(' \n \n'), 'contains no text'],
    ['an empty document', docx('<w:p/>'), 'contains no text'],
    ['half a PDF', Buffer.from('%PDF-1.7\n1 0 obj'), 'damaged or incomplete'],
    ['too much', Buffer.alloc(2_000_001, 'x'), 'more than 2,000,000 characters'],
  ])('%s', async (_what, bytes, words) => {
    await expect(reader.read({ bytes })).rejects.toMatchObject({
      code: 'invalid_document',
      message: expect.stringContaining(words),
    });
  });
});

describe('the decoding of text', () => {
  const words = 'Übergröße – naïve “café” €5';
  const utf16 = Buffer.from(words, 'utf16le');
  const swapped = Buffer.from(utf16).swap16();
  it.each([
    ['UTF-8', Buffer.from(words)],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${words}`)],
    ['UTF-16 with a mark', Buffer.concat([Buffer.from('fffe', 'hex'), utf16])],
    ['UTF-16 of the other order', Buffer.concat([Buffer.from('feff', 'hex'), swapped])],
    ['UTF-16 without a mark', utf16],
    ['Windows 1252', Buffer.from('dc6265726772f6df652096206e61ef76652093636166e994208035', 'hex')],
  ])('from %s', async (_encoding, bytes) => {
    const text = await outcome(reader, bytes, 'note.txt');
    expect(text).toBe(words);
  });

  it('follows the charset of a page or a content type', async () => {
    const cyrillic = Buffer.from('cff0e8e2e5f2', 'hex');
    const page = Buffer.concat([Buffer.from('<html><meta charset="windows-1251"><p>'), cyrillic]);
    expect(await outcome(reader, page)).toBe('Привет');
    const claimed = await reader.read({ bytes: cyrillic, claimedType: 'text/plain; charset=windows-1251' });
    expect(claimed).toEqual({ kind: 'text', text: 'Привет' });
  });
});
