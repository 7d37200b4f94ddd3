/** Small media for orders, made once per test file. */
import { mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { greyPng } from '../../engines/media/pictureFiles.ts';
import { video, type WantedVideo } from '../../engines/media/videoFiles.ts';
import { services } from '../../harness/services.ts';

/** The smallest accepted picture: 65,536 pixels. */
export const SQUARE = greyPng({ width: 256, height: 256 });

/** An MP4, by default of 160 × 120 pixels at 10 frames per second. */
export function clip(wanted: Omit<Partial<WantedVideo>, 'folder' | 'name'> = {}): Buffer {
  const folder = mkdtempSync(path.join(services().folder, 'clip-'));
  return readFileSync(video('mp4', { size: '160x120', rate: 10, ...wanted, folder, name: 'clip' }));
}

export function dataUrl(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}
