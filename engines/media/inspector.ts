/** Inspects the bytes of files in a child process. */

import type { MediaKind } from '../../domain/generation/media.ts';
import { type ChildAnswer, createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';
import type { Inspection } from './inspectFile.ts';
import type { ImageInspection, OtherFile } from './inspectImage.ts';
import type { VideoStructure } from './structure/videoStructure.ts';

/** Results by media kind. Undefined when the file is not of that kind. */
export interface Inspections extends Record<MediaKind, unknown> {
  audio: Inspection;
  image: ImageInspection | OtherFile | undefined;
  video: VideoStructure | undefined;
  /** Content type. */
  document: string | undefined;
}

export interface InspectorOptions {
  /** Compiled child. Default: the shipped one. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
}

export interface Inspector {
  /** Undefined when the limits ended the parser. Rejects when no child starts, which is not the file's fault. */
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

/** Number of files inspected concurrently. */
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
      // The result type belongs to the given view.
      return (await pool.ask({ view, path }))?.inspection as Inspections[View] | undefined;
    },
    close() {
      pool.close();
    },
  };
}

/** Shared by the process. Its children start with the first file. */
export const inspector = createInspector();
