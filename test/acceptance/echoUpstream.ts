/** Text service that repeats its input in every place: answers, errors and pages. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EchoUpstream {
  baseUrl: string;
  /** Number of uses of each behaviour, by the name of the model that selects it. */
  taken: Map<string, number>;
  /** Matches of the pattern in requests. */
  heard: Set<string>;
  close(): Promise<void>;
}

interface Said {
  word: string;
  streamed: boolean;
  response: ServerResponse;
}

const error = (status: number, code?: string) => (said: Said) => {
  const { word, response } = said;
  const words = `You said ${word}, and that is wrong`;
  const told = { message: words, type: word, param: word, code: code ?? word };
  json(response, status, { error: told, detail: words });
};

/** Behaviours by the last part of a model's name. */
export const WAYS: Record<string, (said: Said) => void> = {
  ok: (said) => (said.streamed ? stream(said, () => said.response.end('data: [DONE]\n\n')) : whole(said)),
  cut: (said) => (said.streamed ? stream(said, () => said.response.destroy()) : said.response.destroy()),
  wrong: error(400),
  unprocessable: error(422),
  policy: error(400, 'content_policy_violation'),
  context: error(400, 'context_length_exceeded'),
  credential: error(401),
  busy: error(429),
  failed: error(500),
  page: ({ word, response }) => {
    response.writeHead(502, { 'content-type': 'text/html' }).end(`<html>${word}</html>`);
  },
  garbage: ({ word, response }) => json(response, 200, { choices: [{ [word]: word }], word }),
  broken: ({ word, streamed, response }) => {
    if (!streamed) return void response.writeHead(200).end(`{"choices": "${word}`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: {"choices": ${word}\n\n`);
  },
  errs: (said) => {
    const { word, streamed, response } = said;
    const told = { error: { message: `no ${word}`, type: word, code: word } };
    if (!streamed) return json(response, 200, told);
    stream(said, () => response.end(`data: ${JSON.stringify(told)}\n\n`));
  },
};

export async function startEchoUpstream(pattern: RegExp): Promise<EchoUpstream> {
  const taken = new Map<string, number>();
  const heard = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const { model = '', stream: streamed = false, input } = JSON.parse(text || '{}');
    for (const [word] of text.matchAll(pattern)) heard.add(word);
    const [word = 'nothing'] = text.match(pattern) ?? [];
    const way = String(model).split('-').at(-1) ?? '';
    taken.set(way, (taken.get(way) ?? 0) + 1);
    if (input !== undefined && way === 'ok') return json(response, 200, embedding(input));
    WAYS[way]?.({ word, streamed, response });
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    ...{ taken, heard },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const HEAD = { id: 'chatcmpl-echo', created: 1_760_000_000, model: 'echo' };

function whole({ word, response }: Said): void {
  const call = { id: `call_${word}`, type: 'function', function: { name: 'look', arguments: `"${word}"` } };
  const message = { role: 'assistant', content: word, reasoning_content: word, tool_calls: [call] };
  json(response, 200, {
    ...{ ...HEAD, object: 'chat.completion', usage: null },
    choices: [{ index: 0, finish_reason: 'stop', message }],
  });
}

function stream({ word, response }: Said, end: () => void): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const deltas = [{ role: 'assistant', content: word }, { reasoning_content: word }, { content: ` ${word}` }];
  for (const delta of deltas) {
    const chunk = { ...HEAD, object: 'chat.completion.chunk', choices: [{ index: 0, delta }] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
  const finish = { index: 0, delta: {}, finish_reason: 'stop' };
  response.write(`data: ${JSON.stringify({ ...HEAD, choices: [finish] })}\n\n`, () => setTimeout(end, 10));
}

function embedding(input: string | string[]): object {
  const data = [input].flat().map((_, index) => ({ object: 'embedding', index, embedding: [0.5, 0.5] }));
  return { object: 'list', model: 'echo', data };
}
