/** Facilitator for the exact scheme on Solana (WALLET-15). Honest unless a test changes it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readSubmission, type SolanaChain } from './solanaChain.ts';

export interface SignsForFees {
  address: string;
  sign(message: Uint8Array): Uint8Array;
}

export interface SettleRequest {
  x402Version: number;
  paymentPayload: { x402Version: number; accepted: unknown; payload: { transaction: string } };
  paymentRequirements: { network: string; amount: string; extra: Record<string, string> };
}

export interface SolanaFacilitator {
  url: string;
  settles: SettleRequest[];
  /** Signs and submits the transaction. Returns its signature. */
  settle(request: SettleRequest): string;
  /** Replaces the honest /settle. */
  instead: ((request: SettleRequest, response: ServerResponse) => void | Promise<void>) | undefined;
  /** Body of GET /supported. Undefined gives 503. */
  supported: unknown;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;

export async function startSolanaFacilitator(chain: SolanaChain, key: SignsForFees): Promise<SolanaFacilitator> {
  const server = createServer((request, response) => {
    serve(facilitator, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const facilitator: SolanaFacilitator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    settles: [],
    instead: undefined,
    supported: {
      kinds: [
        { x402Version: 2, scheme: 'exact', network: 'eip155:8453' },
        { x402Version: 2, scheme: 'exact', network: chain.network, extra: { feePayer: key.address } },
      ],
      extensions: [],
      signers: { 'solana:*': [key.address] },
    },
    settle: (request) => settle(chain, key, request),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return facilitator;
}

function settle(chain: SolanaChain, key: SignsForFees, request: SettleRequest): string {
  const wire = Buffer.from(request.paymentPayload.payload.transaction, 'base64');
  const message = wire.subarray(1 + 64 * (wire[0] ?? 0));
  Buffer.from(key.sign(new Uint8Array(message))).copy(wire, 1);
  const submission = readSubmission(new Uint8Array(wire));
  chain.submit(submission);
  return submission.signature;
}

async function serve(
  facilitator: SolanaFacilitator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url === '/supported') {
    const { supported } = facilitator;
    return sendJson(response, supported === undefined ? 503 : 200, supported ?? { error: 'down' });
  }
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  const asked = JSON.parse(Buffer.concat(chunks).toString('utf8')) as SettleRequest;
  facilitator.settles.push(asked);
  if (facilitator.instead !== undefined) return await facilitator.instead(asked, response);
  const { network } = asked.paymentRequirements;
  sendJson(response, 200, { success: true, transaction: facilitator.settle(asked), network, payer: '' });
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
