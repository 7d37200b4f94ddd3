/**
 * Contract wallets: their chain is asked whether they signed, by calls that change nothing, bounded in gas, time, size
 * of the reply and number. Deployed wallets answer by EIP-1271. Others, and signatures in the wrapper of EIP-6492, are
 * checked by its universal validator, whose code runs without being deployed.
 */
import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
} from 'viem';
import { FareboxError } from '../../../domain/errors.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import type { Logger } from '../../../infra/log.ts';
import type { SignInThrottle } from '../signInThrottle.ts';

type Hex = `0x${string}`;

/**
 * Calls a node of the network (CAIP-2) without changing anything. Not ok: the contract reverted, or ran out of gas.
 * Throws when the node does not answer.
 */
export type EthCall = (
  network: string,
  call: { to?: Hex; data: Hex; gas: bigint },
  signal: AbortSignal,
) => Promise<{ ok: true; data: string } | { ok: false }>;

interface ContractSignature {
  network: string;
  /** Lower case, with 0x. */
  address: Hex;
  digest: Hex;
  signature: Hex;
}

export interface SmartWalletOptions {
  /** Undefined: no chain can be queried. */
  ethCall: EthCall | undefined;
  /** Networks (CAIP-2) that have a node. */
  networks: ReadonlySet<string>;
  /** Wraps each query on behalf of an address; throws in place of it when that address has queried too much. */
  guard: SignInThrottle['askChain'];
  log: Logger;
}

export interface SmartWallets {
  canAsk(network: string): boolean;
  /**
   * Returns when the wallet signed. `from`: address of the client. Throws SignInRefused, or FareboxError: `unavailable`
   * when the node does not answer, `rate_limited`.
   */
  check(signature: ContractSignature, from: string): Promise<void>;
}

const EIP1271 = [
  {
    type: 'function',
    name: 'isValidSignature',
    stateMutability: 'view',
    inputs: [
      { type: 'bytes32', name: 'hash' },
      { type: 'bytes', name: 'signature' },
    ],
    outputs: [{ type: 'bytes4', name: '' }],
  },
] as const;

const TIME_LIMIT_MS = 2_000;
/** Anybody can cause a query by an invalid signature, so a process runs at most so many at once. */
const MAX_AT_ONCE = 16;
/** A passkey signature that is checked in Solidity takes 350,000 gas; creating a wallet takes a million. */
const MAX_GAS = { eip1271: 2_000_000n, eip6492: 6_000_000n } as const;
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;
const WRAPPED = '6492'.repeat(16);
/** Precompiled contracts. The one named `identity` returns its input, which can begin with the magic value. */
const BUILT_IN = /^0x0{36}/;

export function createSmartWallets({ ethCall, networks, guard, log }: SmartWalletOptions): SmartWallets {
  let asking = 0;

  async function ask(signature: ContractSignature, asked: EthCall): Promise<boolean> {
    if (asking >= MAX_AT_ONCE) throw unavailable('too many smart wallets are being checked');
    asking += 1;
    try {
      return await withinTime((signal) => isValid(signature, asked, signal));
    } catch (error) {
      log.warn({ err: error, reason: signature.network }, 'a chain did not answer whether a wallet signed');
      throw unavailable('the chain of a smart wallet does not answer', error);
    } finally {
      asking -= 1;
    }
  }

  const canAsk = (network: string) => ethCall !== undefined && networks.has(network);
  return {
    canAsk,
    async check(signature, from) {
      if (ethCall === undefined || !canAsk(signature.network)) throw noChain(signature.network);
      if (BUILT_IN.test(signature.address)) {
        throw new SignInRefused('X402_SIGN_IN_INVALID_WALLET', 'Nobody owns this address.');
      }
      const wallet = { family: 'evm', address: signature.address, chain: signature.network } as const;
      if (await guard(from, wallet, () => ask(signature, ethCall))) return;
      throw new SignInRefused(
        'X402_SIGN_IN_INVALID_SIGNATURE',
        'The signature is not of the key of this address, and no contract there accepts it.',
      );
    },
  };
}

/** The answer must be the magic value and nothing else. */
async function isValid(asked: ContractSignature, ethCall: EthCall, signal: AbortSignal): Promise<boolean> {
  const { network, address, digest, signature } = asked;
  if (signature.endsWith(WRAPPED)) {
    const data = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [address, digest, signature],
    });
    const answer = await ethCall(network, { data, gas: MAX_GAS.eip6492 }, signal);
    return answer.ok && answer.data === '0x01';
  }
  const data = encodeFunctionData({
    abi: EIP1271,
    functionName: 'isValidSignature',
    args: [digest, signature],
  });
  const answer = await ethCall(network, { to: address, data, gas: MAX_GAS.eip1271 }, signal);
  return answer.ok && answer.data === MAGIC;
}

/** Ends at the limit even when the work ignores its signal. */
async function withinTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${TIME_LIMIT_MS} ms`));
      controller.abort();
    }, TIME_LIMIT_MS);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

function noChain(network: string): SignInRefused {
  return new SignInRefused(
    'X402_SIGN_IN_INVALID_WALLET',
    `Wallets that are contracts cannot sign in here: no node of ${network} is configured that could be asked.`,
  );
}

function unavailable(internal: string, cause?: unknown): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message: 'This wallet cannot be checked at the moment. Please try again.',
    internal,
    retryAfterSeconds: 1,
    cause,
  });
}
