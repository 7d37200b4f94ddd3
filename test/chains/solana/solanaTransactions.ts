/** Methods that send, simulate and look up transactions, with the errors of a validator. */
import { type Address, getBase64Decoder, type Transaction } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import {
  API_VERSION,
  addressAt,
  bytesOf,
  commitmentOf,
  inContext,
  invalidParams,
  optionsAt,
  type Params,
  RpcFault,
  type RpcMethod,
  textAt,
} from './rpcCall.ts';
import {
  attempt,
  base58,
  readSubmission,
  type SolanaChain,
  type Submission,
  type TransactionRecord,
} from './solanaChain.ts';
import { FailedTransactionMetadata, faultOf, type TransactionFault } from './solanaErrors.ts';
import { innerInstructions } from './solanaMeta.ts';
import { confirmationOf, uiAccount } from './solanaReads.ts';

/** Size of one packet of the network. */
const MAX_TRANSACTION_BYTES = 1_232;
const MAX_STATUSES = 256;
/** Older transactions are found only with `searchTransactionHistory`. */
const STATUS_SLOTS = 150n;

export const TRANSACTIONS: Readonly<Record<string, RpcMethod>> = {
  sendTransaction,
  simulateTransaction,
  getSignatureStatuses,
  getTransaction,
};

function sendTransaction(chain: SolanaChain, params: Params): string {
  const options = optionsAt(params, 1);
  const submission = submissionOf(textAt(params, 0), options.encoding);
  if (options.skipPreflight !== true) {
    const trial = tryOut(chain, { submission, options, verifies: true });
    if (trial.err === 'SignatureFailure') {
      throw new RpcFault(-32003, 'Transaction signature verification failure');
    }
    if (trial.err !== null) {
      throw new RpcFault(-32002, `Transaction simulation failed: ${wordsOf(trial.err)}`, {
        ...trial,
        accounts: null,
        innerInstructions: null,
        replacementBlockhash: null,
      });
    }
  }
  chain.submit(submission);
  return submission.signature;
}

function simulateTransaction(chain: SolanaChain, params: Params): unknown {
  const options = optionsAt(params, 1);
  const verifies = options.sigVerify === true;
  if (verifies && options.replaceRecentBlockhash === true) {
    throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
  }
  const submission = submissionOf(textAt(params, 0), options.encoding);
  return inContext(chain, options, tryOut(chain, { submission, options, verifies }));
}

interface Trial {
  submission: Submission;
  options: Record<string, unknown>;
  verifies: boolean;
}

function tryOut(chain: SolanaChain, { submission, options, verifies }: Trial) {
  const result = attempt(() => simulate(chain.svm, submission.transaction, verifies));
  const isForged = result instanceof FailedTransactionMetadata && faultOf(result) === 'SignatureFailure';
  if (result === undefined || isForged) return { ...NOTHING_RUN, err: 'SignatureFailure' };
  const early = refusedEarly(chain, submission, options);
  if (early !== undefined) return { ...NOTHING_RUN, err: early };
  const meta = result.meta();
  const isFailed = result instanceof FailedTransactionMetadata;
  const wanted = addressesOf(options.accounts);
  const after = isFailed ? [] : result.postAccounts();
  return {
    err: isFailed ? faultOf(result) : null,
    logs: meta.logs(),
    accounts:
      wanted?.map((address) => {
        const account = after.find((each) => each.address === address);
        if (account === undefined) return uiAccount(chain, address, { encoding: 'base64' });
        const { executable, lamports, programAddress: owner, data } = account;
        return {
          data: [getBase64Decoder().decode(data), 'base64'],
          executable,
          lamports,
          owner,
          rentEpoch: 0,
        };
      }) ?? null,
    unitsConsumed: meta.computeUnitsConsumed(),
    returnData: null,
    innerInstructions: options.innerInstructions === true ? innerInstructions(meta) : null,
  };
}

const NOTHING_RUN = { logs: [], accounts: null, unitsConsumed: 0, returnData: null, innerInstructions: null };

/** Checks of a bank before it loads an account. */
function refusedEarly(
  chain: SolanaChain,
  submission: Submission,
  options: Record<string, unknown>,
): TransactionFault | undefined {
  const { lifetimeToken } = submission.message;
  const isReplaced = options.replaceRecentBlockhash === true;
  if (!isReplaced && !chain.isBlockhashValid(lifetimeToken, commitmentOf(options))) return 'BlockhashNotFound';
  return chain.wasProcessed(submission) ? 'AlreadyProcessed' : undefined;
}

function simulate(svm: LiteSVM, transaction: Transaction, verifies: boolean) {
  svm.withSigverify(verifies);
  try {
    return svm.simulateTransaction(transaction);
  } finally {
    svm.withSigverify(true);
  }
}

function addressesOf(accounts: unknown): Address[] | undefined {
  if (typeof accounts !== 'object' || accounts === null) return undefined;
  const { addresses } = accounts as { addresses?: unknown };
  if (!Array.isArray(addresses)) throw invalidParams('Invalid params: missing field `addresses`');
  return addresses.map((_, index) => addressAt(addresses, index));
}

function getSignatureStatuses(chain: SolanaChain, params: Params): unknown {
  const signatures = params[0];
  if (!Array.isArray(signatures)) throw invalidParams('Invalid params: expected a sequence');
  if (signatures.length > MAX_STATUSES) {
    throw invalidParams(`Too many inputs provided; max ${MAX_STATUSES}`);
  }
  const { searchTransactionHistory = false } = optionsAt(params, 1);
  const tip = chain.slot('processed');
  const value = signatures.map((signature) => {
    const record = chain.records.get(String(signature));
    if (record === undefined) return null;
    if (tip - record.slot > STATUS_SLOTS && searchTransactionHistory !== true) return null;
    const { slot, fault: err, meta } = record;
    const confirmationStatus = confirmationOf(chain, slot);
    const confirmations = confirmationStatus === 'finalized' ? null : tip - slot;
    return { slot, confirmations, err, status: meta.status, confirmationStatus };
  });
  return { context: { slot: tip, apiVersion: API_VERSION }, value };
}

function getTransaction(chain: SolanaChain, params: Params): unknown {
  const given = params[1];
  const options = typeof given === 'string' ? { encoding: given } : optionsAt(params, 1);
  if (options.commitment === 'processed') {
    throw invalidParams('Method does not support commitment below `confirmed`');
  }
  const record = chain.records.get(textAt(params, 0));
  if (record === undefined || record.slot > chain.slot(commitmentOf(options))) return null;
  const { version } = record.message;
  if (version !== 'legacy' && options.maxSupportedTransactionVersion !== 0) {
    throw new RpcFault(
      -32015,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    );
  }
  const { slot, blockTime, meta } = record;
  return { slot, blockTime, meta, transaction: encoded(record, options.encoding ?? 'json'), version };
}

function encoded({ wire, message, signature }: TransactionRecord, encoding: unknown): unknown {
  if (encoding === 'base64') return [getBase64Decoder().decode(wire), 'base64'];
  if (encoding === 'base58') return [base58(wire), 'base58'];
  if (encoding !== 'json') throw invalidParams(`Invalid params: unknown variant \`${String(encoding)}\``);
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header;
  const signatures = Array.from({ length: numSignerAccounts }, (_, index) =>
    index === 0 ? signature : base58(wire.slice(1 + 64 * index, 65 + 64 * index)),
  );
  return {
    signatures,
    message: {
      accountKeys: message.staticAccounts,
      header: {
        numRequiredSignatures: numSignerAccounts,
        numReadonlySignedAccounts: numReadonlySignerAccounts,
        numReadonlyUnsignedAccounts: numReadonlyNonSignerAccounts,
      },
      recentBlockhash: message.lifetimeToken,
      instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: base58(new Uint8Array(data ?? [])),
        stackHeight: 1,
      })),
      ...(message.version === 0 && { addressTableLookups: [] }),
    },
  };
}

function submissionOf(text: string, encoding: unknown): Submission {
  const wire = bytesOf(text, encoding ?? 'base58');
  if (wire.length > MAX_TRANSACTION_BYTES) {
    throw invalidParams(
      `base64 encoded solana_transaction::versioned::VersionedTransaction too large: ${wire.length} bytes (max: encoded/raw 1644/1232)`,
    );
  }
  const submission = attempt(() => readSubmission(wire));
  if (submission === undefined) throw invalidParams('failed to deserialize transaction: io error');
  return submission;
}

function wordsOf(fault: TransactionFault): string {
  if (fault === 'AlreadyProcessed') return 'This transaction has already been processed';
  if (fault === 'BlockhashNotFound') return 'Blockhash not found';
  if (typeof fault === 'string') return fault;
  const [index, inner] = (fault.InstructionError ?? [0, fault]) as [number, unknown];
  return `Error processing Instruction ${index}: ${JSON.stringify(inner)}`;
}
