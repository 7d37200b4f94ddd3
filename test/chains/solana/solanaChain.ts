/**
 * Solana chain in this process. litesvm runs transactions. This file adds slots, blocks, blockhashes that expire after
 * 150 blocks, commitments, and histories by address. Accounts have only the state of the tip, so a balance read at
 * `finalized` is also the newest one.
 */
import { createHash } from 'node:crypto';
import {
  type Address,
  type CompiledTransactionMessageWithLifetime,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type LegacyCompiledTransactionMessage,
  lamports,
  type Transaction,
  type V0CompiledTransactionMessage,
} from '@solana/kit';
import { LiteSVM } from 'litesvm';
import { FailedTransactionMetadata, faultOf, type TransactionFault } from './solanaErrors.ts';
import { type TransactionMeta, takeBalances, transactionMeta } from './solanaMeta.ts';

/** Number of blocks after its own in which a blockhash is valid. */
const BLOCKHASH_BLOCKS = 150n;
/** First slot of a test. Slots and heights are far from zero and from each other, so that a mix-up shows. */
const FIRST_SLOT = 5_000n;
const SLOTS_WITHOUT_BLOCK = 700n;
const SLOTS_BEFORE_TESTS = 80n;
/** Time on the chain's clock per slot, however fast a test makes slots. */
const MS_PER_SLOT = 400;

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface SolanaChainOptions {
  /** Base58. Default: an own one. Its first 32 characters are the CAIP-2 reference. */
  genesisHash?: string;
  /** Slots between the tip and the newest final block. Default: 32, as on the main network. */
  finalAfter?: number;
  /** Interval of new slots. Without it slots pass only by `advance` and with each transaction. */
  slotEveryMs?: number;
}

export interface TransactionRecord {
  signature: string;
  slot: bigint;
  /** Unix seconds. */
  blockTime: number;
  wire: Uint8Array;
  message: CompiledMessage;
  fault: TransactionFault | null;
  meta: TransactionMeta;
}

type CompiledMessage = (LegacyCompiledTransactionMessage | V0CompiledTransactionMessage) &
  CompiledTransactionMessageWithLifetime;

export interface Submission {
  wire: Uint8Array;
  transaction: Transaction;
  message: CompiledMessage;
  /** Base58 signature of the fee payer. */
  signature: string;
}

export class SolanaChain {
  readonly svm = new LiteSVM().withBlockhashCheck(false);
  readonly genesisHash: string;
  /** CAIP-2 id. */
  readonly network: string;
  readonly records = new Map<string, TransactionRecord>();
  /** Signatures by address, oldest first. */
  readonly histories = new Map<string, string[]>();
  /** Treatment of submitted transactions. The network may delay or lose them. */
  onSubmit: 'execute' | 'hold' | 'drop' = 'execute';
  /** Number of submitted transactions with duplicates. */
  submissions = 0;
  readonly #held: Submission[] = [];
  readonly #messages = new Set<string>();
  readonly #heights = new Map<string, bigint>();
  readonly #hashes = new Map<bigint, string>();
  readonly #finalAfter: bigint;
  readonly #startedMs = Date.now() - Number(SLOTS_BEFORE_TESTS) * MS_PER_SLOT;
  readonly #timer: NodeJS.Timeout | undefined;
  #tip = FIRST_SLOT;

  constructor({ genesisHash, finalAfter = 32, slotEveryMs }: SolanaChainOptions = {}) {
    this.genesisHash = genesisHash ?? base58(createHash('sha256').update('a chain for tests').digest());
    this.network = `solana:${this.genesisHash.slice(0, 32)}`;
    this.#finalAfter = BigInt(finalAfter);
    this.advance(SLOTS_BEFORE_TESTS);
    this.#timer = slotEveryMs === undefined ? undefined : setInterval(() => this.advance(1n), slotEveryMs);
    this.#timer?.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Adds slots with an empty block each. */
  advance(slots: bigint | number): void {
    for (let count = 0n; count < BigInt(slots); count += 1n) {
      this.#tip += 1n;
      this.svm.warpToSlot(this.#tip);
      this.svm.expireBlockhash();
      const blockhash = this.svm.latestBlockhash();
      this.#hashes.set(this.#tip, blockhash);
      this.#heights.set(blockhash, this.heightOf(this.#tip));
    }
  }

  slot(commitment: Commitment): bigint {
    if (commitment === 'finalized') return this.#tip - this.#finalAfter;
    return commitment === 'confirmed' ? this.#tip - 1n : this.#tip;
  }

  /** Some slots have no block, so heights are below slots. */
  heightOf(slot: bigint): bigint {
    return slot - SLOTS_WITHOUT_BLOCK;
  }

  /** Unix seconds on the chain's clock. */
  timeOf(slot: bigint): number {
    return Math.floor((this.#startedMs + Number(slot - FIRST_SLOT) * MS_PER_SLOT) / 1_000);
  }

  latestBlockhash(commitment: Commitment): { blockhash: string; lastValidBlockHeight: bigint } {
    const slot = this.slot(commitment);
    const blockhash = this.#hashes.get(slot);
    if (blockhash === undefined) throw new Error(`slot ${slot} has no block`);
    return { blockhash, lastValidBlockHeight: this.heightOf(slot) + BLOCKHASH_BLOCKS };
  }

  /** Validity at this commitment. A blockhash newer than its bank is invalid like an expired one. */
  isBlockhashValid(blockhash: string, commitment: Commitment): boolean {
    const height = this.#heights.get(blockhash);
    const now = this.heightOf(this.slot(commitment));
    return height !== undefined && height <= now && now - height <= BLOCKHASH_BLOCKS;
  }

  wasProcessed(submission: Submission): boolean {
    return this.#messages.has(messageKey(submission)) || this.records.has(submission.signature);
  }

  /** Acts as the leader: drops invalid transactions and executes others once, in a block of their own. */
  submit(submission: Submission): void {
    this.submissions += 1;
    if (this.onSubmit === 'drop') return;
    if (this.onSubmit === 'hold') this.#held.push(submission);
    else this.execute(submission);
  }

  /** Executes the held transactions in order. */
  release(): void {
    for (const submission of this.#held.splice(0)) this.execute(submission);
  }

  airdrop(address: Address, amount: bigint): void {
    const result = this.svm.airdrop(address, lamports(amount));
    if (result === null || result instanceof FailedTransactionMetadata) throw new Error('no airdrop');
    this.advance(1);
  }

  /** Executes a transaction whatever `onSubmit` is. */
  execute(submission: Submission): void {
    if (this.wasProcessed(submission)) return;
    if (!this.isBlockhashValid(submission.message.lifetimeToken, 'processed')) return;
    const accounts = submission.message.staticAccounts;
    const before = takeBalances(this.svm, accounts);
    const result = attempt(() => this.svm.sendTransaction(submission.transaction));
    // A transaction that fails before it runs, e.g. by its signature, is in no block.
    if (result === undefined || (result instanceof FailedTransactionMetadata && unpaid(result))) return;
    const fault = result instanceof FailedTransactionMetadata ? faultOf(result) : null;
    const meta = transactionMeta({ before, after: takeBalances(this.svm, accounts), result, fault });
    this.#remember({ submission, fault, meta });
    this.advance(1);
  }

  #remember(done: { submission: Submission; fault: TransactionFault | null; meta: TransactionMeta }): void {
    const { signature, wire, message } = done.submission;
    const { fault, meta } = done;
    const blockTime = this.timeOf(this.#tip);
    this.records.set(signature, { signature, slot: this.#tip, blockTime, wire, message, fault, meta });
    this.#messages.add(messageKey(done.submission));
    for (const address of message.staticAccounts) {
      const history = this.histories.get(address) ?? [];
      history.push(signature);
      this.histories.set(address, history);
    }
  }
}

/** Throws unless the bytes are a transaction. */
export function readSubmission(wire: Uint8Array): Submission {
  const transaction = getTransactionDecoder().decode(wire);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1 || !('lifetimeToken' in message)) throw new Error('unsupported version');
  const first = Object.values(transaction.signatures)[0];
  return { wire, transaction, message, signature: base58(first ?? new Uint8Array(64)) };
}

/** Undefined if the binding throws. */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

export function base58(bytes: Uint8Array): string {
  return getBase58Decoder().decode(bytes);
}

function unpaid(failed: FailedTransactionMetadata): boolean {
  const fault = faultOf(failed);
  return typeof fault === 'string';
}

function messageKey({ transaction }: Submission): string {
  return createHash('sha256').update(new Uint8Array(transaction.messageBytes)).digest('hex');
}
