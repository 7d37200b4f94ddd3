/** Runs in the inspection child only: which video container a file is by its signature, and what its structure says. */
import { type FileWindow, withFileWindow } from './structure/fileWindow.ts';
import { walkMatroska } from './structure/matroska.ts';
import { walkMovie } from './structure/movie.ts';
import type { VideoStructure } from './structure/videoStructure.ts';

/** Pictures and sounds in the same boxes. */
const OTHER_BRANDS = /^(avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1|M4A |M4B |M4P |F4A |F4B )$/;
/** What QuickTime files of old begin with. */
const QUICKTIME_HEADS = ['moov', 'mdat', 'wide', 'free', 'skip'];
const EBML = Buffer.from('1a45dfa3', 'hex');

/** Undefined: no such container. */
export function inspectVideo(path: string): VideoStructure | undefined {
  return withFileWindow(path, (file) => {
    const container = containerOf(file);
    if (container === undefined) return undefined;
    return container === 'matroska' ? walkMatroska(file) : walkMovie(file, container);
  });
}

function containerOf(file: FileWindow): 'mp4' | 'mov' | 'matroska' | undefined {
  const head = file.bytes(0, 12);
  if (head.subarray(0, 4).equals(EBML)) return 'matroska';
  const type = head.toString('latin1', 4, 8);
  const brand = head.toString('latin1', 8, 12);
  if (type === 'ftyp' && !OTHER_BRANDS.test(brand)) return brand === 'qt  ' ? 'mov' : 'mp4';
  return QUICKTIME_HEADS.includes(type) ? 'mov' : undefined;
}
