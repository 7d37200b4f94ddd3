/** Checks with the nodes whether a payment can be settled now: blockhash valid, accounts correct, simulation passes. */
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { ChainNode } from '../nodes/chainNode.ts';
import type { RpcNodes } from '../nodes/rpcNodes.ts';
import { ChainUnavailable, type PaymentRefusalCode, PaymentRefused, type SignedPayment } from '../paymentNetwork.ts';
import { readTransfer, type Transfer } from './exactTransfer.ts';
import { isPlainMint, readTokenAccount } from './mint.ts';
import { SYSTEM_PROGRAM } from './programs.ts';
import { isBlockhashValid, readAccounts, simulateTransaction } from './readNode.ts';
import { transactionOf } from './readPayment.ts';

type SolanaPaymentVerdict = 'good' | 'unpaid' | keyof typeof REFUSALS;

const REFUSALS = {
  expired: ['PAYMENT_VERIFICATION_FAILED', 'the blockhash of the transaction is not valid, or not any more'],
  used: ['PAYMENT_VERIFICATION_FAILED', 'the transaction was handed in before'],
  poor: ['PAYMENT_VERIFICATION_FAILED', 'the payer has less than this of the token'],
  failing: ['PAYMENT_VERIFICATION_FAILED', 'the network would refuse the transaction'],
  token: ['UNSUPPORTED_TOKEN', 'the transfer is not by the program of the token'],
  payer: ['INVALID_PAYMENT_PAYER', 'the payer must be a wallet that owns its token account'],
} as const satisfies Record<string, readonly [PaymentRefusalCode, string]>;

export interface SolanaVerifier {
  nodes: RpcNodes;
  settings: PaymentNetworkSettings;
  decimals: number;
  /** Whether this service pays the fees, not a facilitator. */
  isOwnFee: boolean;
}

/** Throws PaymentRefused, ChainUnavailable. `details.reason` says which. */
export async function verifyPayment(
  { nodes, settings, decimals, isOwnFee }: SolanaVerifier,
  payment: SignedPayment,
  signal: AbortSignal,
): Promise<void> {
  const transaction = transactionOf(payment);
  const { asset: mint, payTo } = settings;
  const transfer = await readTransfer(transaction, { mint, decimals, payTo, isOwnFee });
  const examined: TransferTransaction = {
    ...{ transfer, mint, payTo, decimals },
    blockhash: transaction.blockhash,
    wire: String(payment.payload.transaction),
  };
  const verdict = await nodes.agreed((node) => examine(node, examined), signal);
  if (verdict === 'good') return;
  if (verdict === 'unpaid') throw new ChainUnavailable('the fee payer cannot pay the fee');
  const [code, message] = REFUSALS[verdict];
  throw new PaymentRefused(code, message, { reason: verdict });
}

interface TransferTransaction {
  transfer: Transfer;
  mint: string;
  payTo: string;
  decimals: number;
  blockhash: string;
  wire: string;
}

async function examine(node: ChainNode, examined: TransferTransaction): Promise<SolanaPaymentVerdict> {
  const [isValid, accounts, fault] = await Promise.all([
    isBlockhashValid(node, examined.blockhash, 'confirmed'),
    examineAccounts(node, examined),
    simulateTransaction(node, examined.wire),
  ]);
  if (fault === 'AlreadyProcessed') return 'used';
  if (!isValid || fault === 'BlockhashNotFound') return 'expired';
  if (accounts !== 'good') return accounts;
  if (fault === 'InsufficientFundsForFee' || fault === 'AccountNotFound') return 'unpaid';
  return fault === null ? 'good' : 'failing';
}

async function examineAccounts(
  node: ChainNode,
  { transfer, mint, payTo, decimals }: TransferTransaction,
): Promise<SolanaPaymentVerdict> {
  const { program, payer, source, destination, amount } = transfer;
  const [token, from, to, wallet] = await readAccounts(node, [mint, source, destination, payer]);
  if (token?.owner !== program || !isPlainMint(token.data, decimals)) return 'token';
  // A wallet that holds only tokens has no account of its own.
  if (wallet !== undefined && wallet.owner !== SYSTEM_PROGRAM) return 'payer';
  if (from?.owner !== program) return 'poor';
  const theirs = readTokenAccount(from.data);
  if (theirs?.owner !== payer || theirs.mint !== mint) return 'payer';
  if (theirs.amount < amount) return 'poor';
  const ours = to?.owner === program ? readTokenAccount(to.data) : undefined;
  return ours?.owner === payTo && ours.mint === mint ? 'good' : 'failing';
}
