/** Media and bodies that the services of the table deliver. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { video } from '../../engines/media/videoFiles.ts';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import type { Ending } from './row.ts';

export const SONG = silentMp3(1);
export const FILM = makeFilm();

export const STORED: Ending = { state: 'stored', bytes: SONG, contentType: 'audio/mpeg' };
export const FILMED: Ending = { state: 'stored', bytes: FILM, contentType: 'video/mp4' };

export const PAGE = '<html><body>Something is wrong</body></html>';
/** One byte above the limit of answers. */
export const GARBAGE = 'x'.repeat(1024 * 1024 + 1);
/** A picture, independent of its declared type. */
export const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

function makeFilm(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'farebox-film-'));
  try {
    return readFileSync(video('mp4', { folder, name: 'film', seconds: 1, size: '64x64', rate: 5 }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
