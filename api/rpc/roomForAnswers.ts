/**
 * Large answers that are whole in memory until their client has read them. A client that asks on and does not read must not
 * use up the process's memory, nor the others' share of it.
 */

/** Smaller ones are not counted: the connections are. */
const LARGE_BYTES = 1024 * 1024;
/** A few of the largest (providers/rpc: 25 MB). */
const MOST_OF_ACCOUNT_BYTES = 64 * 1024 * 1024;
const MOST_BYTES = 512 * 1024 * 1024;

let all = 0;
const ofAccount = new Map<string, number>();

/** `leave` gives it back, once; undefined for an answer that is not large. */
export interface Room {
  leave: (() => void) | undefined;
}

const SMALL: Room = { leave: undefined };

/** Undefined: there is none at the moment. */
export function takeRoom(accountId: string, sizeBytes: number): Room | undefined {
  if (sizeBytes <= LARGE_BYTES) return SMALL;
  const own = ofAccount.get(accountId) ?? 0;
  if (own + sizeBytes > MOST_OF_ACCOUNT_BYTES || all + sizeBytes > MOST_BYTES) return undefined;
  add(accountId, sizeBytes);
  let left = false;
  const leave = () => {
    if (left) return;
    left = true;
    add(accountId, -sizeBytes);
  };
  return { leave };
}

function add(accountId: string, sizeBytes: number): void {
  all += sizeBytes;
  const own = (ofAccount.get(accountId) ?? 0) + sizeBytes;
  if (own === 0) ofAccount.delete(accountId);
  else ofAccount.set(accountId, own);
}
