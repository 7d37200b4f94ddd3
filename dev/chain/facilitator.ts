/**
 * Reference facilitator of x402 over HTTP, for a local chain only: POST /verify, POST /settle, GET /supported
 * (WALLET-14). Its packages are not dependencies of the service, so they are imported on start.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import type { Abi, Account } from 'viem';
import { chainClient } from './chainClient.ts';
import { untilMined } from './untilMined.ts';

export interface FacilitatorOptions {
  rpcUrl: string;
  chainId: number;
  /** Pays the gas. */
  account: Account;
}

/** Response of a facilitator. `payer` and `transaction` are present if known. */
export type Facilitation = Readonly<Record<string, unknown>>;

export interface Facilitator {
  verify(request: FacilitationRequest): Promise<Facilitation>;
  settle(request: FacilitationRequest): Promise<Facilitation>;
  supported(): Facilitation;
}

export interface FacilitationRequest {
  paymentPayload: PaymentPayload;
  paymentRequirements: PaymentRequirements;
}

/** Far above the largest real payment. */
const MAX_REQUEST_BYTES = 100_000;

export async function createFacilitator(options: FacilitatorOptions): Promise<Facilitator> {
  const [{ x402Facilitator }, { ExactEvmScheme }, { toFacilitatorEvmSigner }] = await Promise.all([
    import('@x402/core/facilitator'),
    import('@x402/evm/exact/facilitator'),
    import('@x402/evm'),
  ]);
  const client = chainClient(options.rpcUrl, options.chainId, options.account);
  // Only sending is serialised. Receipts are awaited concurrently.
  const inTurn = createTurn();
  const signer = toFacilitatorEvmSigner({
    address: options.account.address,
    getCode: (request) => client.getCode(request),
    readContract: ({ abi, ...request }) => client.readContract({ ...request, abi: abi as Abi }),
    writeContract: ({ abi, ...request }) =>
      inTurn(() =>
        client.writeContract({ ...request, abi: abi as Abi, chain: client.chain, account: options.account }),
      ),
    sendTransaction: (request) => inTurn(() => client.sendTransaction(request)),
    verifyTypedData: (request) => client.verifyTypedData(request as Parameters<typeof client.verifyTypedData>[0]),
    waitForTransactionReceipt: ({ hash }) => untilMined(client, hash),
  });
  const reference = new x402Facilitator().register(`eip155:${options.chainId}`, new ExactEvmScheme(signer));
  return {
    verify: async ({ paymentPayload, paymentRequirements }) => ({
      ...(await reference.verify(paymentPayload, paymentRequirements)),
    }),
    settle: async ({ paymentPayload, paymentRequirements }) => ({
      ...(await reference.settle(paymentPayload, paymentRequirements)),
    }),
    supported: () => ({ ...reference.getSupported() }),
  };
}

export function facilitatorServer(facilitator: Facilitator): Server {
  return createServer((request, response) => {
    answer(facilitator, request).then(
      ({ status, body }) => sendJson(response, status, body),
      (error: unknown) => sendJson(response, 500, { error: String(error).slice(0, 500) }),
    );
  });
}

async function answer(
  facilitator: Facilitator,
  request: IncomingMessage,
): Promise<{ status: number; body: Facilitation }> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /supported') return { status: 200, body: facilitator.supported() };
  if (route === 'POST /verify') return { status: 200, body: await facilitator.verify(await readJson(request)) };
  if (route === 'POST /settle') return { status: 200, body: await facilitator.settle(await readJson(request)) };
  return { status: 404, body: { error: 'not found' } };
}

export async function readJson(request: IncomingMessage): Promise<FacilitationRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_REQUEST_BYTES) throw new Error('the request is too large');
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as FacilitationRequest;
}

export function sendJson(response: ServerResponse, status: number, body: Facilitation): void {
  const text = JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

/** Runs work serially in the order of calls, because two transactions of one account must not use the same nonce. */
export function createTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
