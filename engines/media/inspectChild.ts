/** Entry point of the inspection child: inspects one file per message. Exits with its parent. */

import { readFileSync, statSync } from 'node:fs';
import { fileTypeFromBuffer } from 'file-type';
import { denyNetwork } from '../child/denyNetwork.ts';
import { decodeText } from '../documents/decodeText.ts';
import { MAX_DOCUMENT_BYTES } from '../documents/document.ts';
import { inspectFile } from './inspectFile.ts';
import { inspectImage } from './inspectImage.ts';
import type { Inspections } from './inspector.ts';
import { type FileWindow, withFileWindow } from './structure/fileWindow.ts';
import { walkMatroska } from './structure/matroska.ts';
import { walkMovie } from './structure/movie.ts';
import type { VideoStructure } from './structure/videoStructure.ts';

type View = keyof Inspections;

const VIEWS: { [Each in View]: (path: string) => Inspections[Each] | Promise<Inspections[Each]> } = {
  audio: inspectFile,
  image: inspectImage,
  video: inspectVideo,
  document: inspectDocument,
};

/** Brands of images and sounds in the same container. */
const OTHER_BRANDS = /^(avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1|M4A |M4B |M4P |F4A |F4B )$/;
/** Possible first boxes of old QuickTime files. */
const QUICKTIME_HEADS = ['moov', 'mdat', 'wide', 'free', 'skip'];
const EBML = Buffer.from('1a45dfa3', 'hex');

/** Detects the video container by signature and reads its structure. Undefined for any other file. */
function inspectVideo(path: string): VideoStructure | undefined {
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

const DOCUMENT_TYPES: Record<string, string | undefined> = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Content type by signature. The content is left to the document reader. Undefined for any other file. */
async function inspectDocument(path: string): Promise<string | undefined> {
  if (statSync(path).size > MAX_DOCUMENT_BYTES) return undefined;
  const file = readFileSync(path);
  const known = await fileTypeFromBuffer(file);
  if (known !== undefined) return DOCUMENT_TYPES[known.ext];
  const text = decodeText(file);
  return text === undefined || text.trim() === '' ? undefined : 'text/plain';
}

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', ({ view, path, file }: { view: View; path: string; file: number }) => {
  inspect(view, path).then(
    (inspection) => process.send?.({ file, inspection }),
    () => process.send?.({ file, inspection: undefined }),
  );
});
process.send?.('ready');

async function inspect(view: View, path: string): Promise<Inspections[View]> {
  return await VIEWS[view](path);
}
