import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createInspector } from '../../../engines/media/inspector.ts';

const childPath = fileURLToPath(new URL('../../fixtures/stubbornChild.mjs', import.meta.url));

describe('the inspection of a file', () => {
  it('is aborted when its parser hangs, and the next file gets a new child', async () => {
    const inspector = createInspector({ childPath, maxChildren: 1, timeoutMs: 3_000 });
    expect(await inspector.inspect('audio', '/hang')).toBeUndefined();
    expect((await inspector.inspect('audio', '/fine'))?.format).toBe('mp3');
    inspector.close();
  });

  it('survives a parser that crashes its process', async () => {
    const inspector = createInspector({ childPath, maxChildren: 1, timeoutMs: 60_000 });
    expect(await inspector.inspect('audio', '/die')).toBeUndefined();
    expect((await inspector.inspect('audio', '/fine'))?.format).toBe('mp3');
    inspector.close();
  });

  it('gets its turn, however many wait', async () => {
    const inspector = createInspector({ childPath, maxChildren: 2, timeoutMs: 60_000 });
    const paths = Array.from({ length: 200 }, (_, index) => (index % 50 === 7 ? '/die' : '/fine'));
    const answers = await Promise.all(paths.map((path) => inspector.inspect('audio', path)));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(4);
    inspector.close();
  });

  it('excludes the start of its child from the time limit, and blames no file when the child never starts', async () => {
    const lateChild = childPath.replace('stubborn', 'late');
    const late = createInspector({ childPath: lateChild, maxChildren: 1, timeoutMs: 800 });
    expect((await late.inspect('audio', '/fine'))?.format).toBe('mp3');
    late.close();
    const broken = createInspector({ childPath: `${childPath}.missing`, maxChildren: 1 });
    await expect(broken.inspect('audio', '/fine')).rejects.toThrow('ended at its start');
    await expect(broken.inspect('audio', '/fine')).rejects.toThrow('ended at its start');
    broken.close();
  });

  it('ends in time for a file made to loop a parser', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'farebox-inspect-'));
    const path = join(folder, 'loop.asf');
    // Header of an ASF file whose first object has a length of zero.
    const head = Buffer.alloc(55);
    Buffer.from('3026b2758e66cf11a6d900aa0062ce6c', 'hex').copy(head);
    writeFileSync(path, head);
    const inspector = createInspector({ timeoutMs: 30_000 });
    const inspection = await inspector.inspect('audio', path);
    expect(inspection?.format).toBeUndefined();
    inspector.close();
    rmSync(folder, { recursive: true });
  });
});
