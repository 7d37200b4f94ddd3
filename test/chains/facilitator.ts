/** External facilitator for tests: the reference implementation over HTTP, honest unless a fault is set. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Hex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import {
  createFacilitator,
  type FacilitationRequest,
  type Facilitator,
  readJson,
  sendJson,
} from '../../dev/chain/facilitator.ts';
import { type EvmChain, MNEMONIC } from './evmChain.ts';
import { type FaultContext, LIES, MUDDLES, payerOf, SILENCES } from './facilitatorFaults.ts';

const FAULTS = { ...LIES, ...MUDDLES, ...SILENCES };
export type FaultName = keyof typeof FAULTS;

export interface TestFacilitator {
  url: string;
  /** Sets its behaviour at /settle. */
  behave(as: FaultName | 'honest'): void;
  /** Sets its behaviour at /settle for the payments of one payer. */
  behaveTo(payer: string, as: FaultName | 'honest'): void;
  /** Sets its answer at /verify. Default: the truth. */
  verifies(as: 'honest' | 'everything' | 'nothing'): void;
  /** Sets the delay of slow and late faults. */
  slowness(ms: number): void;
  /** Requests by endpoint. */
  readonly counts: { verify: number; settle: number; supported: number };
  /** Payers of the /settle requests, in order. */
  readonly settledFor: readonly string[];
  close(): Promise<void>;
}

interface State {
  chain: EvmChain;
  honest: Facilitator;
  fault: FaultName | 'honest';
  faultsByPayer: Map<string, FaultName | 'honest'>;
  verifies: 'honest' | 'everything' | 'nothing';
  slowMs: number;
  counts: TestFacilitator['counts'];
  settledFor: string[];
  transactions: { payer: string; hash: Hex }[];
}

const SLOW_MS = 20_000;

export async function startFacilitator(chain: EvmChain): Promise<TestFacilitator> {
  const account = mnemonicToAccount(MNEMONIC, { addressIndex: 1 });
  const { rpcUrl, chainId } = chain;
  const honest = await createFacilitator({ rpcUrl, chainId, account });
  const state: State = {
    ...{ chain, honest, faultsByPayer: new Map() },
    ...{ fault: 'honest', verifies: 'honest', slowMs: SLOW_MS },
    ...{ counts: { verify: 0, settle: 0, supported: 0 }, settledFor: [], transactions: [] },
  };
  const server = createServer((request, response) => {
    handle(state, request, response).catch((error: unknown) => {
      if (!response.headersSent) sendJson(response, 500, { error: String(error).slice(0, 300) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: state.counts,
    settledFor: state.settledFor,
    behave: (as) => {
      state.fault = as;
    },
    behaveTo: (payer, as) => void state.faultsByPayer.set(payer.toLowerCase(), as),
    verifies: (as) => {
      state.verifies = as;
    },
    slowness: (ms) => {
      state.slowMs = ms;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /supported') {
    state.counts.supported += 1;
    sendJson(response, 200, state.honest.supported());
  } else if (route === 'POST /verify') {
    state.counts.verify += 1;
    await verify(state, await readJson(request), response);
  } else if (route === 'POST /settle') {
    state.counts.settle += 1;
    await settle(state, await readJson(request), response);
  } else sendJson(response, 404, { error: 'not found' });
}

async function verify(state: State, request: FacilitationRequest, response: ServerResponse): Promise<void> {
  const payer = payerOf(request);
  if (state.verifies === 'everything') return sendJson(response, 200, { isValid: true, payer });
  if (state.verifies === 'nothing') {
    return sendJson(response, 200, { isValid: false, invalidReason: 'unexpected_verify_error', payer });
  }
  sendJson(response, 200, await state.honest.verify(request));
}

async function settle(state: State, request: FacilitationRequest, response: ServerResponse): Promise<void> {
  const payer = payerOf(request).toLowerCase();
  state.settledFor.push(payer);
  const behaviour = state.faultsByPayer.get(payer) ?? state.fault;
  if (behaviour !== 'honest') {
    const { chain, honest, slowMs } = state;
    const otherTransaction = state.transactions.findLast((each) => each.payer !== payer)?.hash;
    const fault: (context: FaultContext) => Promise<void> | void = FAULTS[behaviour];
    return await fault({ chain, honest, request, response, otherTransaction, slowMs });
  }
  const said = await state.honest.settle(request);
  if (said.success === true) state.transactions.push({ payer, hash: said.transaction as Hex });
  sendJson(response, 200, said);
}
