/** What the bytes of a file say it is, found out in a child process. */

import type { MediaKind } from '../../domain/generation/media.ts';
import { type ChildAnswer, createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';
import type { Inspection } from './inspectFile.ts';
import type { ImageInspection, OtherFile } from './inspectImage.ts';
import type { VideoStructure } from './structure/videoStructure.ts';

/** What is found out about a file that should be of this kind; undefined: it is not. */
export interface Inspections extends Record<MediaKind, unknown> {
  audio: Inspection;
  image: ImageInspection | OtherFile | undefined;
  video: VideoStructure | undefined;
  /** The content type. */
  document: string | undefined;
}

export interface InspectorOptions {
  /** The compiled child; the shipped one by default. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
}

export interface Inspector {
  /** Undefined: the file could not be parsed within the limits. Throws when no child starts, which is no file's fault. */
  inspect<View extends MediaKind>(view: View, path: string): Promise<Inspections[View] | undefined>;
  close(): void;
}

interface Question {
  view: MediaKind;
  path: string;
}

interface Answer extends ChildAnswer {
  inspection?: Inspections[MediaKind];
}

const LIMITS = { heapMb: 256, cpuSeconds: 300, filesPerChild: 1_000, maxWaiting: 1_000 };

/** Files that are looked at a time. */
export const INSPECTION_CHILDREN = 2;

export function createInspector(options: InspectorOptions = {}): Inspector {
  const {
    childPath = shippedChild('engines/media/inspectChild'),
    maxChildren = INSPECTION_CHILDREN,
    timeoutMs = 5_000,
  } = options;
  const pool = createChildPool<Question, Answer>({
    ...LIMITS,
    path: childPath,
    name: 'inspection',
    maxChildren,
    timeoutMs,
  });
  return {
    async inspect<View extends MediaKind>(view: View, path: string) {
      // The child answers about the view that it was asked for.
      return (await pool.ask({ view, path }))?.inspection as Inspections[View] | undefined;
    },
    close() {
      pool.close();
    },
  };
}

/** The one of this process; its children start with the first file. */
export const inspector = createInspector();
