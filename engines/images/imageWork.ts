/**
 * Decodes, turns and encodes images in child processes with hard limits on time and memory: no image is unpacked in
 * this process, and one that makes its decoder loop or grow ends with its child (PARSE-1).
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
  /** The compiled child; the shipped one by default. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
  maxWaiting?: number;
  maxWaitMs?: number;
}

interface Asker {
  /** The field of the request that the image came in ("images[1]"). */
  field?: string;
  signal?: AbortSignal | undefined;
}

export interface ImageWork {
  /**
   * Throws FareboxError: `invalid_media` where the image is at fault, also for one that the limits ended, and `unavailable`
   * with the seconds after which to come back when too many wait or one waited too long. What a service made (`finish`)
   * is the service's fault: UpstreamFailure. Any other error is ours.
   */
  run<Name extends ImageTaskName>(
    task: Name,
    input: ImageTaskInput<Name>,
    asker?: Asker,
  ): Promise<ImageTaskResult<Name>>;
  close(): void;
}

/** The largest picture that is taken, in the slowest format, turned and encoded needs 1.1 GB by the kernel's count. */
const LIMITS = { heapMb: 256, memoryMb: 1_480, filesPerChild: 50, cpuSeconds: 3_600 };
/** It takes five seconds, as a WebP eleven; on a busy machine a few times that. */
const TIMEOUT_MS = 60_000;
/** One account has half of them. Their low priority leaves the cores to those who ask for no picture. */
export const IMAGE_CHILDREN = 2;
const MAX_WAITING = 100;
const MAX_WAIT_MS = 30_000;
/** Also for those who wait to be looked at. */
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
      // The child answers about the task that it was given.
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
/** Tasks on files that services made, not clients. */
const OF_SERVICES: ReadonlySet<ImageTaskName> = new Set<ImageTaskName>(['finish']);

function refused(task: ImageTaskName, { code, fault, detail }: ImageTaskRefusal, field: string | undefined): Error {
  if (OF_SERVICES.has(task)) {
    return new UpstreamFailure({ reason: 'garbage', detail: `the image that it made ${fault} (${detail})` });
  }
  return imageFault(fault, { code, field, detail });
}

/** The refusal of a client's image, as one sentence about it. */
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
