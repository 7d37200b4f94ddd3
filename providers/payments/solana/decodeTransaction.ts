/** Decodes a payment's transaction from base64 to the accounts and instructions that its payer signed. */
import { createHash } from 'node:crypto';
import {
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
} from '@solana/kit';
import { decodeBase64 } from '../../../domain/base64.ts';
import { PaymentRefused } from '../paymentNetwork.ts';

export interface Instruction {
  program: string;
  accounts: readonly string[];
  data: Uint8Array;
}

export interface PaymentTransaction {
  /** Signed bytes, which the network executes only once. */
  messageBytes: Uint8Array;
  /** SHA-256 of `messageBytes` in hex. */
  digest: string;
  feePayer: string;
  /** The second signer. */
  payer: string;
  /** Zeros until the fee payer signs. */
  feePayerSignature: Uint8Array;
  payerSignature: Uint8Array;
  blockhash: string;
  accounts: readonly string[];
  instructions: readonly Instruction[];
}

/** Limit of one network packet, and its length in base64. */
const MAX_TRANSACTION_BYTES = 1_232;
const MAX_TEXT_LENGTH = 1_644;
const SIGNATURE_BYTES = 64;
const SIGNERS = 2;
/** After the count (one byte below 128) and the signatures. */
const MESSAGE_AT = 1 + SIGNERS * SIGNATURE_BYTES;
const VERSION_0 = 0x80;

/** Throws PaymentRefused. */
export function decodeTransaction(text: unknown): PaymentTransaction {
  const wire = typeof text === 'string' && text.length <= MAX_TEXT_LENGTH ? decodeBase64(text) : undefined;
  if (wire === undefined || wire.length > MAX_TRANSACTION_BYTES) {
    throw new PaymentRefused(
      'INVALID_PAYMENT_FORMAT',
      `payload.transaction must be standard base64 of at most ${MAX_TRANSACTION_BYTES} bytes`,
    );
  }
  const decoded = decodeWire(new Uint8Array(wire));
  if (typeof decoded !== 'string') return decoded;
  throw new PaymentRefused('INVALID_PAYMENT', decoded, { field: 'payload.transaction' });
}

/** A string is the reason why the transaction is invalid. */
export function decodeWire(wire: Uint8Array): PaymentTransaction | string {
  if (wire[0] !== SIGNERS) return 'the transaction must have two signers: the fee payer and the payer';
  const messageBytes = wire.slice(MESSAGE_AT);
  const first = messageBytes[0] ?? 0;
  if (first < VERSION_0) return 'the transaction must be versioned: it is a legacy one';
  if (first !== VERSION_0) return 'the transaction must be of version 0';
  const message = decodeMessage(messageBytes);
  if (message === undefined) return 'the transaction cannot be decoded';
  const { accounts, instructions, blockhash, signers, hasLookups } = message;
  if (hasLookups) return 'the transaction must name its accounts itself, without lookup tables';
  const [feePayer, payer] = accounts;
  if (signers !== SIGNERS || feePayer === undefined || payer === undefined) {
    return 'the transaction must have two signers: the fee payer and the payer';
  }
  if (new Set(accounts).size !== accounts.length) return 'the transaction names an account twice';
  if (instructions === undefined) return 'an instruction names an account that is not in the transaction';
  return {
    messageBytes,
    digest: createHash('sha256').update(messageBytes).digest('hex'),
    ...{ feePayer, payer, blockhash, accounts, instructions },
    feePayerSignature: wire.slice(1, 1 + SIGNATURE_BYTES),
    payerSignature: wire.slice(1 + SIGNATURE_BYTES, MESSAGE_AT),
  };
}

/** Encodes the transaction for submission: both signatures and the message. */
export function toWire(transaction: PaymentTransaction, feePayerSignature: Uint8Array): Uint8Array {
  const { payerSignature, messageBytes } = transaction;
  return Buffer.concat([new Uint8Array([SIGNERS]), feePayerSignature, payerSignature, messageBytes]);
}

export function addressBytes(address: string): Uint8Array {
  return new Uint8Array(getBase58Encoder().encode(address));
}

interface DecodedMessage {
  signers: number;
  accounts: readonly string[];
  /** Undefined: an instruction names an account outside the list. */
  instructions: readonly Instruction[] | undefined;
  blockhash: string;
  hasLookups: boolean;
}

/** Undefined unless the encoding is canonical: the network refuses longer counts and trailing bytes. */
function decodeMessage(bytes: Uint8Array): DecodedMessage | undefined {
  try {
    const message = decodeVersion0(bytes);
    if (Buffer.compare(Buffer.from(getCompiledTransactionMessageEncoder().encode(message)), bytes) !== 0) {
      return undefined;
    }
    return {
      signers: message.header.numSignerAccounts,
      accounts: message.staticAccounts,
      instructions: resolve(message.staticAccounts, message.instructions),
      blockhash: message.lifetimeToken,
      hasLookups: (message.addressTableLookups ?? []).length > 0,
    };
  } catch {
    return undefined;
  }
}

function decodeVersion0(bytes: Uint8Array) {
  const message = getCompiledTransactionMessageDecoder().decode(bytes);
  if (message.version !== 0 || !('lifetimeToken' in message)) throw new Error('not of version 0');
  return message;
}

type CompiledInstruction = ReturnType<typeof decodeVersion0>['instructions'][number];

function resolve(
  accounts: readonly string[],
  compiled: readonly CompiledInstruction[],
): readonly Instruction[] | undefined {
  const instructions: Instruction[] = [];
  for (const { programAddressIndex, accountIndices = [], data = new Uint8Array() } of compiled) {
    const program = accounts[programAddressIndex];
    const named = accountIndices.flatMap((index) => accounts[index] ?? []);
    if (program === undefined || named.length !== accountIndices.length) return undefined;
    instructions.push({ program, accounts: named, data: new Uint8Array(data) });
  }
  return instructions;
}
