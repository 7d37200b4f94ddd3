import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openReader, outcome } from './reader.ts';

const folder = fileURLToPath(new URL('../../fixtures/documents/', import.meta.url));
const approved = readdirSync(`${folder}approved`);
const reader = openReader();

describe('a real document', () => {
  it('of each kind is read at least three times', () => {
    for (const kind of ['pdf', 'docx', 'pptx', 'xlsx']) {
      const count = approved.filter((name) => name.endsWith(`.${kind}.txt`)).length;
      expect(count, kind).toBeGreaterThanOrEqual(3);
    }
  });

  it.each(approved)('yields the approved text: %s', async (name) => {
    const bytes = readFileSync(folder + name.replace(/\.txt$/, ''));
    // The kind follows from the bytes, not from the name.
    expect(await outcome(reader, bytes)).toBe(readFileSync(`${folder}approved/${name}`, 'utf8'));
  });

  it.each(['bug53475-password-is-pass.docx', 'issue15893_reduced.pdf'])(
    'with a password is refused with that reason: %s',
    async (name) => {
      const bytes = readFileSync(folder + name);
      await expect(reader.read({ bytes, filename: name })).rejects.toMatchObject({
        code: 'invalid_document',
        message: 'The document is protected by a password; send it without one',
      });
    },
  );
});
