/**
 * An account's share of this process beside money: bytes of its uploads on disk and of its fetched media, and places among
 * the programs that decode media and read documents. Each process counts for itself.
 */
import { FareboxError } from '../domain/errors.ts';
import { FETCHED_BYTES, type LimitType, refusalOf } from '../domain/limits/limits.ts';
import { DOCUMENT_CHILDREN } from '../infra/documents/documentReader.ts';
import { TooManyWait } from '../infra/media/childPool.ts';
import type { Holding } from '../infra/media/heldBytes.ts';
import { IMAGE_CHILDREN } from '../infra/media/imageWork/imageWork.ts';
import { INSPECTION_CHILDREN } from '../infra/media/inspector.ts';
import { createTurns, type Turns } from '../infra/media/turns.ts';
import { PAGES_AT_ONCE } from '../infra/web/pageReader.ts';
import type { Limits } from './limits/callLimits.ts';

/** Programs that decode for this process at a time; each of these kinds has so many. */
export const DECODERS = 2;

const SLOTS = {
  decoders: DECODERS,
  documents: DOCUMENT_CHILDREN,
  inspections: INSPECTION_CHILDREN,
  pages: PAGES_AT_ONCE,
  pictures: IMAGE_CHILDREN,
} as const;
export type SlotKind = keyof typeof SLOTS;

/** Work of one account that waits for a slot of a kind. */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 20_000;
const RETRY_AFTER_SECONDS = 5;

/** Share of one request, which must release it on every way out. Taking more throws FareboxError `rate_limited`. */
export interface RequestShare extends Holding {
  /** Runs the work when the account has fewer than its share of these slots in use. */
  inSlot<T>(kind: SlotKind, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export interface AccountShares {
  /** An account, or an address without one. */
  open(owner: string): RequestShare;
}

interface SharedSlots {
  turns: Turns;
  /** Requests that use or wait for them. */
  users: number;
}

export function createAccountShares(limits: Pick<Limits, 'overrideOf'>): AccountShares {
  const bytesOf = new Map<string, number>();
  const slotsOf = new Map<string, SharedSlots>();

  function changeBytes(accountId: string, bytes: number): void {
    const all = (bytesOf.get(accountId) ?? 0) + bytes;
    if (all === 0) bytesOf.delete(accountId);
    else bytesOf.set(accountId, all);
  }

  async function inSlot<T>(name: string, atOnce: number, use: (turns: Turns) => Promise<T>): Promise<T> {
    const known = slotsOf.get(name);
    const slots = known ?? {
      turns: createTurns({ atOnce, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS }),
      users: 0,
    };
    if (!known) slotsOf.set(name, slots);
    slots.users += 1;
    try {
      return await use(slots.turns);
    } finally {
      slots.users -= 1;
      if (slots.users === 0) slotsOf.delete(name);
    }
  }

  return {
    open(accountId) {
      let own = 0;
      let isReleased = false;
      return {
        take(bytes) {
          const most = limits.overrideOf(accountId).fetchedBytes ?? FETCHED_BYTES;
          // A fetch may end after its request: nothing would release what it takes then.
          if (isReleased || (bytesOf.get(accountId) ?? 0) + bytes > most)
            throw refusal('FETCHED_BYTES', most);
          changeBytes(accountId, bytes);
          own += bytes;
        },
        release() {
          isReleased = true;
          changeBytes(accountId, -own);
          own = 0;
        },
        async inSlot(kind, work, signal) {
          const atOnce = limits.overrideOf(accountId).slots ?? halfOf(SLOTS[kind]);
          const name = `${kind} ${accountId}`;
          try {
            return await inSlot(name, atOnce, (turns) => turns.run(work, signal));
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
