/** A Solana chain with a test dollar, a payer, a payee, and a payment that tests can change at every stage. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  type CompiledTransactionMessageWithLifetime,
  compileTransactionMessage,
  createTransactionMessage,
  getBase58Decoder,
  getCompiledTransactionMessageEncoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type V0CompiledTransactionMessage,
} from '@solana/kit';
import { onTestFinished } from 'vitest';
import type { PaymentNetworkSettings } from '../../../../domain/payments/networkSettings.ts';
import type { PaymentEnvelope, PaymentNetwork } from '../../../../providers/payments/paymentNetwork.ts';
import { createSolanaPayments } from '../../../../providers/payments/solana/createSolanaPayments.ts';
import { SolanaChain, type SolanaChainOptions } from '../../../chains/solana/solanaChain.ts';
import { type SolanaNode, startSolanaNode } from '../../../chains/solana/solanaNode.ts';
import { createTestUsd, MEMO_PROGRAM_ADDRESS, type TestUsd } from '../../../chains/solana/testUsd.ts';

export const SIX_DOLLARS = 6_000_000n;
const SOL = 1_000_000_000n;
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111' as Address;

export interface Key {
  address: Address;
  privateKey: KeyObject;
  /** In the format of the environment variable. */
  secret: string;
}

export function newKey(): Key {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const base58 = getBase58Decoder();
  return {
    address: base58.decode(point) as Address,
    privateKey: createPrivateKey({ key: privateKey.export({ format: 'pem', type: 'pkcs8' }), format: 'pem' }),
    secret: base58.decode(Buffer.concat([seed, point])),
  };
}

export interface World {
  chain: SolanaChain;
  nodes: SolanaNode[];
  usd: TestUsd;
  payer: Key;
  feeKey: Key;
  recipient: Key;
  payTo: Address;
  source: Address;
  destination: Address;
  settings: PaymentNetworkSettings;
  payments: PaymentNetwork;
  close(): Promise<void>;
}

export interface WorldOptions {
  nodes?: number;
  chain?: SolanaChainOptions;
  usd?: Parameters<typeof createTestUsd>[1];
  settings?: Partial<PaymentNetworkSettings>;
}

/** Opened for one test and closed at its end. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = await createSolanaWorld(options);
  onTestFinished(() => world.close());
  return world;
}

export async function createSolanaWorld(options: WorldOptions = {}): Promise<World> {
  const chain = new SolanaChain(options.chain);
  const nodes = await Promise.all(Array.from({ length: options.nodes ?? 1 }, () => startSolanaNode(chain)));
  const usd = await createTestUsd(chain, options.usd);
  const [payer, feeKey, recipient] = [newKey(), newKey(), newKey()];
  const payTo = recipient.address;
  chain.airdrop(feeKey.address, SOL);
  const source = await usd.fund(payer.address, 100_000_000n);
  const destination = await usd.fund(payTo, 1n);
  const settings: PaymentNetworkSettings = {
    network: chain.network,
    family: 'solana',
    asset: usd.mint,
    assetName: 'USD Coin',
    assetVersion: '2',
    payTo,
    rpcUrls: nodes.map(({ url }) => url),
    confirmations: 32,
    facilitatorUrl: undefined,
    feePayerKeyEnv: 'FEE_KEY',
    feeBudgetPerDay: 1,
    allowPrivateNetwork: true,
    ...options.settings,
  };
  const payments = createSolanaPayments(settings, { secret: () => feeKey.secret, callTimeoutMs: 3_000 });
  const close = async () => {
    await payments.close?.();
    await Promise.all(nodes.map((node) => node.close()));
    chain.close();
  };
  return {
    chain,
    nodes,
    usd,
    payer,
    feeKey,
    recipient,
    payTo,
    source,
    destination,
    settings,
    payments,
    close,
  };
}

/** Parts of a payment before any change. */
interface Draft {
  feePayer: Address;
  blockhash: string;
  instructions: Instruction[];
}

export interface Bend {
  draft?: (draft: Draft, world: World) => Draft | Promise<Draft>;
  /** Changes the compiled message. */
  compiled?: (message: Compiled, world: World) => Compiled;
  /** Changes the bytes that are signed. */
  message?: (bytes: Buffer, world: World) => Buffer;
  /** Signer; default: the payer. */
  signer?: (world: World) => Key;
  /** Changes the signed transaction's bytes. */
  wire?: (bytes: Buffer, world: World) => Buffer;
  /** Changes their base64. */
  text?: (text: string) => unknown;
}

export type Compiled = V0CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;

/** `payload.transaction` as a client sends it. */
export async function transactionText(world: World, bend: Bend = {}): Promise<unknown> {
  const draft = await (bend.draft ?? ((same: Draft) => same))(draftOf(world), world);
  const compiled = compile(draft);
  const bent = bend.compiled === undefined ? compiled : bend.compiled(compiled, world);
  const encoded = Buffer.from(getCompiledTransactionMessageEncoder().encode(bent));
  const message = bend.message?.(encoded, world) ?? encoded;
  const signature = sign(null, message, (bend.signer?.(world) ?? world.payer).privateKey);
  const signed = Buffer.concat([Buffer.from([2]), Buffer.alloc(64), signature, message]);
  const text = (bend.wire?.(signed, world) ?? signed).toString('base64');
  return bend.text === undefined ? text : bend.text(text);
}

export function envelopeOf(world: World, transaction: unknown): PaymentEnvelope {
  const { network } = world.settings;
  const common = { x402Version: 2, scheme: 'exact', network, resourceUrl: undefined } as const;
  return { ...common, accepted: undefined, payload: { transaction } };
}

export async function envelope(world: World, bend: Bend = {}): Promise<PaymentEnvelope> {
  return envelopeOf(world, await transactionText(world, bend));
}

let memos = 0;

function draftOf(world: World): Draft {
  memos += 1;
  return {
    feePayer: world.feeKey.address,
    blockhash: world.chain.latestBlockhash('confirmed').blockhash,
    instructions: [unitLimit(20_000), unitPrice(1n), transferOf(world), memo(`payment ${memos}`)],
  };
}

function compile({ feePayer, blockhash, instructions }: Draft): Compiled {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(feePayer, empty),
    (unfit) => setTransactionMessageLifetimeUsingBlockhash(lifetime, unfit),
    (bare) => appendTransactionMessageInstructions(instructions, bare),
  );
  return compileTransactionMessage(message);
}

export function unitLimit(units: number, size = 5): Instruction {
  const data = Buffer.alloc(Math.max(size, 5));
  data.writeUInt8(2);
  data.writeUInt32LE(units, 1);
  return { programAddress: COMPUTE_BUDGET, data: data.subarray(0, size) };
}

export function unitPrice(microLamports: bigint, size = 9): Instruction {
  const data = Buffer.alloc(Math.max(size, 9));
  data.writeUInt8(3);
  data.writeBigUInt64LE(microLamports, 1);
  return { programAddress: COMPUTE_BUDGET, data: data.subarray(0, size) };
}

export function memo(text: string | Buffer): Instruction {
  return { programAddress: MEMO_PROGRAM_ADDRESS, data: Buffer.from(text) };
}

export interface TransferParts {
  program?: Address;
  source?: Address;
  mint?: Address;
  destination?: Address;
  authority?: Address;
  amount?: bigint;
  decimals?: number;
  kind?: number;
  size?: number;
  others?: Instruction['accounts'];
}

export function transferOf(world: World, parts: TransferParts = {}): Instruction {
  const data = Buffer.alloc(32);
  data.writeUInt8(parts.kind ?? 12);
  data.writeBigUInt64LE(parts.amount ?? SIX_DOLLARS, 1);
  data.writeUInt8(parts.decimals ?? 6, 9);
  return {
    programAddress: parts.program ?? world.usd.program,
    accounts: [
      { address: parts.source ?? world.source, role: AccountRole.WRITABLE },
      { address: parts.mint ?? world.usd.mint, role: AccountRole.READONLY },
      { address: parts.destination ?? world.destination, role: AccountRole.WRITABLE },
      { address: parts.authority ?? world.payer.address, role: AccountRole.READONLY_SIGNER },
      ...(parts.others ?? []),
    ],
    data: data.subarray(0, parts.size ?? 10),
  };
}
