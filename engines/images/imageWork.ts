/**
 * Decodes, rotates and encodes images in child processes with hard limits on time and memory, never in this process. An
 * image that makes its decoder loop or grow ends only its child (PARSE-1).
 */
import { FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import { tooBusy } from '../../infra/tooBusy.ts';
import { createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';
import type { ImageAnswer, ImageQuestion } from './childWords.ts';
import { OVER_LIMITS } from './imageRefusal.ts';
import type { ImageTaskInput, ImageTaskName, ImageTaskResult } from './imageTasks.ts';

export interface ImageWorkOptions {
  /** Compiled child. Default: the shipped one. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
  maxWaiting?: number;
  maxWaitMs?: number;
}

interface Asker {
  /** Field of the request with the image, such as "images[1]". */
  field?: string;
  signal?: AbortSignal | undefined;
}

export interface ImageWork {
  /**
   * Rejects with FareboxError `invalid_media` when the image is at fault or exceeds the limits. Rejects with
   * `unavailable` and a retry time when too many wait or one waited too long. For an image of a provider (`finish`) it
   * rejects with UpstreamFailure. Any other error is ours.
   */
  run<Name extends ImageTaskName>(
    task: Name,
    input: ImageTaskInput<Name>,
    asker?: Asker,
  ): Promise<ImageTaskResult<Name>>;
  close(): void;
}

/** The largest accepted image in the slowest format, rotated and encoded, takes 1.1 GB by the kernel's count. */
const LIMITS = { heapMb: 256, memoryMb: 1_480, filesPerChild: 50, cpuSeconds: 3_600 };
/** That image takes 5 s, or 11 s as a WebP, and a few times that on a busy machine. */
const TIMEOUT_MS = 60_000;
/** One account gets half of them. Their low priority leaves the cores to requests without images. */
export const IMAGE_CHILDREN = 2;
const MAX_WAITING = 100;
const MAX_WAIT_MS = 30_000;
/** Used for inspections that wait, too. */
export const throwImagesBusy = tooBusy('images are being processed', 10);

export function createImageWork(options: ImageWorkOptions = {}): ImageWork {
  const { maxChildren = IMAGE_CHILDREN, timeoutMs = TIMEOUT_MS } = options;
  const { maxWaiting = MAX_WAITING, maxWaitMs = MAX_WAIT_MS } = options;
  const path = options.childPath ?? shippedChild('engines/images/imageChild');
  const pool = createChildPool<ImageQuestion, ImageAnswer>({
    ...LIMITS,
    ...{ path, name: 'image', maxChildren, timeoutMs, maxWaiting, maxWaitMs },
  });
  return {
    async run<Name extends ImageTaskName>(task: Name, input: ImageTaskInput<Name>, { field, signal }: Asker = {}) {
      const answer = await pool.ask({ task, input }, signal).catch(throwImagesBusy);
      const { result, refusal, broken } = answer ?? { refusal: ENDED };
      if (refusal !== undefined) throw refused(task, refusal, field);
      if (broken !== undefined) throw new Error(`the image task ${task} broke: ${broken}`);
      // The result type belongs to the given task.
      return result as ImageTaskResult<Name>;
    },
    close() {
      pool.close();
    },
  };
}

type ImageTaskRefusal = NonNullable<ImageAnswer['refusal']>;

const ENDED: ImageTaskRefusal = {
  code: 'invalid_media',
  fault: OVER_LIMITS,
  detail: 'the child was ended by its limits',
};
/** Tasks on files from providers instead of clients. */
const OF_SERVICES: ReadonlySet<ImageTaskName> = new Set<ImageTaskName>(['finish']);

function refused(task: ImageTaskName, { code, fault, detail }: ImageTaskRefusal, field: string | undefined): Error {
  if (OF_SERVICES.has(task)) {
    return new UpstreamFailure({ reason: 'garbage', detail: `the image that it made ${fault} (${detail})` });
  }
  return imageFault(fault, { code, field, detail });
}

/** Error with one sentence about a client's image. */
export function imageFault(
  fault: string,
  { code = 'invalid_media', field, detail }: Partial<Omit<ImageTaskRefusal, 'fault'>> & { field?: string | undefined },
): FareboxError {
  const message = `${field ?? 'The image'} ${fault}.`;
  return new FareboxError({
    ...{ code, message },
    ...(field === undefined ? {} : { fields: { [field]: [message] } }),
    ...(detail === undefined || detail === fault ? {} : { internal: detail }),
  });
}
