/**
 * Share of an account in this process: bytes of its uploads on disk, of its fetched media and of its pages, and slots
 * among the programs that decode media and read documents. Each process counts for itself.
 */
import { FareboxError } from '../domain/errors.ts';
import { FETCHED_BYTES, type LimitOverride, type LimitType, refusalOf } from '../domain/limits/limits.ts';
import { DOCUMENT_CHILDREN } from '../engines/documents/documentReader.ts';
import { IMAGE_CHILDREN } from '../engines/images/imageWork.ts';
import { INSPECTION_CHILDREN } from '../engines/media/inspector.ts';
import type { ReservedBytes } from './byteBudget.ts';
import { PAGE_CHILDREN, PAGES_AT_ONCE } from './http/pages/pageReader.ts';
import { createKeyedSemaphore, createSemaphore } from './semaphore.ts';
import { TooManyWait, tooBusy } from './tooBusy.ts';

/** Programs that decode recordings and videos for this process at a time: each uses a core. */
export const DECODERS = 2;

const SLOTS = {
  decoders: DECODERS,
  documents: DOCUMENT_CHILDREN,
  inspections: INSPECTION_CHILDREN,
  pages: PAGES_AT_ONCE,
  conversions: PAGE_CHILDREN,
  pictures: IMAGE_CHILDREN,
} as const;
/** `steps`: those of jobs that a worker fetches and decodes in. */
export type SlotKind = keyof typeof SLOTS | 'steps';

/** Slots of one account in an API process: half of each kind, at least one. */
export function slotsOfAccount({ slots }: LimitOverride): [Exclude<SlotKind, 'steps'>, number][] {
  return (Object.keys(SLOTS) as (keyof typeof SLOTS)[]).map((kind) => [kind, slots ?? halfOf(SLOTS[kind])]);
}

/** Work of one account that waits for a slot of a kind. */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 20_000;
const RETRY_AFTER_SECONDS = 5;
const busy = tooBusy('recordings and videos are being decoded', 10);

/** Share of one request, which must release it on every way out. Taking more throws FareboxError `rate_limited`. */
export interface RequestShare extends ReservedBytes {
  /** Takes the requested amount, at most the whole share: a large job is not refused for ever. */
  reserve(bytes: number): void;
  /**
   * Runs the work when the account uses less than its share of these slots. This is the only queue of decoders: the
   * work also waits for a slot of the process, and throws FareboxError `unavailable` when too many wait.
   */
  inSlot<T>(kind: SlotKind, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export interface AccountShares {
  /** An account, or an address without one. */
  open(owner: string): RequestShare;
}

export interface AccountSharesOptions {
  overrideOf(accountId: string): LimitOverride;
  /** Steps of jobs that this process works at. */
  steps?: number;
  /** Work of one account that waits for a slot of a kind. */
  maxWaiting?: number;
}

export function createAccountShares(options: AccountSharesOptions): AccountShares {
  const { steps = 0, maxWaiting = MAX_WAITING } = options;
  const slots = { ...SLOTS, steps };
  const bytesOf = new Map<string, number>();
  const turns = createKeyedSemaphore({ maxWaiting, maxWaitMs: MAX_WAIT_MS });
  const decoding = createSemaphore({ atOnce: DECODERS, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS });

  function changeBytes(accountId: string, bytes: number): void {
    const all = (bytesOf.get(accountId) ?? 0) + bytes;
    if (all === 0) bytesOf.delete(accountId);
    else bytesOf.set(accountId, all);
  }

  return {
    open(accountId) {
      const mostBytes = () => options.overrideOf(accountId).fetchedBytes ?? FETCHED_BYTES;
      let own = 0;
      let isReleased = false;
      const take = (bytes: number) => {
        const most = mostBytes();
        // A fetch may end after its request; its bytes would never be released.
        if (isReleased || (bytesOf.get(accountId) ?? 0) + bytes > most) throw refusal('FETCHED_BYTES', most);
        changeBytes(accountId, bytes);
        own += bytes;
      };
      return {
        take,
        reserve: (bytes) => take(Math.min(bytes, mostBytes())),
        release() {
          isReleased = true;
          changeBytes(accountId, -own);
          own = 0;
        },
        async inSlot(kind, work, signal) {
          const atOnce = options.overrideOf(accountId).slots ?? halfOf(slots[kind]);
          const run = kind === 'decoders' ? () => decoding.run(work, signal).catch(busy) : work;
          try {
            return await turns.run({ key: `${kind} ${accountId}`, atOnce, signal }, run);
          } catch (error) {
            throw error instanceof TooManyWait ? refusal('SLOTS', atOnce) : error;
          }
        },
      };
    },
  };
}

function halfOf(slots: number): number {
  return Math.max(1, Math.floor(slots / 2));
}

function refusal(limitType: LimitType, limit: number): FareboxError {
  return new FareboxError({
    ...{ code: 'rate_limited', limitType, retryAfterSeconds: RETRY_AFTER_SECONDS },
    message: refusalOf(limitType, limit),
  });
}
