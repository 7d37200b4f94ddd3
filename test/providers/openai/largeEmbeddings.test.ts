/** Embeddings of the maximum size: the reply is parsed in short turns of the event loop. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOpenAi } from '../../../providers/openai/openai.ts';
import { longestTurn } from '../../harness/stall.ts';

const VECTORS = 2_048;
const NUMBERS = 3_072;
const MAX_TURN_MS = 100;

let service: Server;
let reply: Buffer;
beforeAll(async () => {
  service = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(reply));
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => service.close(resolve)));

function replyOf(embedding: unknown): Buffer {
  const entry = JSON.stringify(embedding);
  const entries = Array.from({ length: VECTORS }, (_, index) => `{"index":${index},"embedding":${entry}}`);
  return Buffer.from(`{"data":[${entries.join(',')}],"usage":{"prompt_tokens":9}}`);
}

const vector = Array.from({ length: NUMBERS }, (_, index) => (index % 2 === 0 ? 0.0125 : -0.5));
const FORMS: [form: string, embedding: unknown][] = [
  ['base64', Buffer.from(new Float32Array(vector).buffer).toString('base64')],
  ['numbers', vector],
];

it.each(FORMS)('parses embeddings sent as %s in turns below the limit of the event loop', async (_form, embedding) => {
  reply = replyOf(embedding);
  const { port } = service.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const provider = createOpenAi({ name: 'stub', baseUrl, allowPrivateNetwork: true });
  const request = { upstreamModel: 'e', inputs: Array(VECTORS).fill('a'), endUser: 'somebody' };
  const read = async () => {
    const { vectors } = await provider.embed(request, { signal: new AbortController().signal });
    expect([vectors.length, vectors.at(-1)?.at(-1)]).toEqual([VECTORS, -0.5]);
  };
  try {
    expect(await longestTurn(read, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  } finally {
    await provider.close();
  }
});
