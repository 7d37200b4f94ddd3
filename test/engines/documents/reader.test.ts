/** Rules for any document: limits, restart of the child, aborts. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { workFolders } from '../../../engines/child/workFolders.ts';
import { MAX_DOCUMENT_BYTES } from '../../../engines/documents/document.ts';
import { openReader, outcome } from './reader.ts';

const childPath = fileURLToPath(new URL('../../fixtures/stubbornDocumentChild.mjs', import.meta.url));
const BYTES = Buffer.from('text');

describe('a document', () => {
  const reader = openReader({ childPath, timeoutMs: 3_000 });

  it('that hangs its parser is aborted in time, and the next one is read', async () => {
    expect(await outcome(reader, BYTES, 'x.hang')).toBe('refused: too_complex');
    expect(await outcome(reader, BYTES)).toBe('fine');
  });

  it('that crashes its process is refused, and the next one is read', async () => {
    expect(await outcome(reader, BYTES, 'x.die')).toBe('refused: too_complex');
    expect(await outcome(reader, BYTES)).toBe('fine');
  });

  it.runIf(process.platform === 'linux')('gets no more memory than the limit, also outside the heap', async () => {
    // Not stopped by the time limit, which is beyond the deadline of the test.
    const patient = openReader({ childPath, timeoutMs: 3_600_000 });
    expect(await outcome(patient, BYTES, 'x.swell')).toBe('refused: too_complex');
    expect(await outcome(patient, BYTES)).toBe('fine');
  });

  it('of more than 25 MB is refused before any child sees it', async () => {
    expect(await outcome(reader, Buffer.alloc(MAX_DOCUMENT_BYTES + 1))).toBe('refused: too_large');
  });
});

describe('an aborted reading', () => {
  const reader = openReader({ childPath, timeoutMs: 3_600_000 });

  it('ends at once, with its child process', async () => {
    const signal = AbortSignal.timeout(500);
    await expect(reader.read({ bytes: BYTES, filename: 'x.hang' }, { signal })).rejects.toThrow('aborted');
    expect(await outcome(reader, BYTES)).toBe('fine');
  });

  it('in the queue leaves its place to the next', async () => {
    const working = new AbortController();
    const first = reader.read({ bytes: BYTES, filename: 'x.hang' }, { signal: working.signal }).catch(() => 'gone');
    // Gives the first reading the only child.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const waiting = new AbortController();
    const second = reader.read({ bytes: BYTES }, { signal: waiting.signal }).catch(() => 'gone');
    const third = outcome(reader, BYTES);
    await new Promise((resolve) => setTimeout(resolve, 300));
    waiting.abort();
    expect(await second).toBe('gone');
    working.abort();
    expect(await first).toBe('gone');
    expect(await third).toBe('fine');
  });

  it('does not start when it is aborted before', async () => {
    const signal = AbortSignal.abort();
    await expect(reader.read({ bytes: BYTES }, { signal })).rejects.toBe(signal.reason);
  });
});

describe('the document reader', () => {
  it('refuses readings beyond its queue with a retry delay, and serves all others', async () => {
    const reader = openReader({ childPath });
    const crowd = await Promise.allSettled(Array.from({ length: 80 }, () => reader.read({ bytes: BYTES })));
    const refused = crowd.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(80 - 65);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 5 } });
  });

  it('leaves no trace of a document on disk', async () => {
    const folders = workFolders(fileURLToPath(new URL(`../../../dist/documents-${process.pid}`, import.meta.url)));
    const reader = openReader({ childPath, workFolders: folders });
    await outcome(reader, BYTES);
    await outcome(reader, BYTES, 'x.die');
    await folders.settled();
    expect(readdirSync(folders.root)).toEqual([]);
  });
});
