/** Requests at the size limit of 35 MB whose parts are expensive to decode, estimate or forward. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LargeBody {
  name: string;
  path: string;
  status: number;
  /** Built when it is sent, because all bodies together would fill the memory. */
  body(): string;
}

const MAX_BYTES = 35 * 1024 * 1024;
/** Space for the fields around the texts. */
const SPARE_BYTES = 4_096;
const CHAT = 'large-chat';
const EMBEDDING = 'large-embedding';
const LOCAL = 'local-lexical-embedding';
const PRICE = { usd: 0.000_1, diem: 0.000_1 };
const PNG_HEAD = Buffer.from('89504e470d0a1a0a0000000d49484452000002000000020008020000007b1a43ad', 'hex');

/** JSON array of texts. `unit` may be an escape sequence. */
function texts(unit: string, count: number, quoted = (text: string) => `"${text}"`): string {
  const each = Math.floor((MAX_BYTES - SPARE_BYTES) / count) - quoted('').length - 1;
  const text = quoted(unit.repeat(Math.floor(each / Buffer.byteLength(unit))));
  return `[${Array(count).fill(text).join(',')}]`;
}

const said = (text: string) => `{"role":"user","content":"${text}"}`;
const embeddings = (model: string, unit: string) => () => `{"model":"${model}","input":${texts(unit, 2_000)}}`;
const chat = (unit: string, messages: number) => () => `{"model":"${CHAT}","messages":${texts(unit, messages, said)}}`;

function picture(): string {
  const bytes = Buffer.alloc(25 * 1024 * 1024 - 1);
  PNG_HEAD.copy(bytes);
  const url = `data:image/png;base64,${bytes.toString('base64')}`;
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ];
  return JSON.stringify({ model: CHAT, messages: [{ role: 'user', content: parts }] });
}

/** Every call for this decision repeats the instructions. */
function decision(): string {
  const criteria = Object.fromEntries(Array.from({ length: 7_000 }, (_, at) => [`option ${at}`, null]));
  const question = { type: 'choice', instructions: 'ab '.repeat(60_000), criteria };
  return JSON.stringify({ model: 'simulator-decision', state: 'ab', questions: { question } });
}

export const LARGE_BODIES: readonly LargeBody[] = [
  { name: 'words, embedded here', path: '/embeddings', status: 200, body: embeddings(LOCAL, 'ab cd') },
  { name: 'Cyrillic, embedded here', path: '/embeddings', status: 200, body: embeddings(LOCAL, 'тест ') },
  { name: 'words, sent on', path: '/embeddings', status: 200, body: embeddings(EMBEDDING, 'ab cd') },
  { name: 'Latin of two bytes, sent on', path: '/embeddings', status: 200, body: embeddings(EMBEDDING, 'é') },
  { name: 'escapes, sent on', path: '/embeddings', status: 200, body: embeddings(EMBEDDING, '\\n') },
  {
    name: 'halves of characters, sent on',
    ...{ path: '/embeddings', status: 200, body: embeddings(EMBEDDING, '\\ud800') },
  },
  { name: 'chat of one message', path: '/chat/completions', status: 400, body: chat('ab cd', 1) },
  { name: 'chat of 6,000 messages', path: '/chat/completions', status: 400, body: chat('漢字', 6_000) },
  { name: 'chat of blanks', path: '/chat/completions', status: 200, body: chat(' ', 6_000) },
  { name: 'chat with a picture', path: '/chat/completions', status: 200, body: picture },
  {
    name: 'responses of 6,000 messages',
    path: '/responses',
    status: 400,
    body: () => `{"model":"${CHAT}","input":${texts('é', 6_000, said)}}`,
  },
  { name: 'a decision of 7,000 options', path: '/decisions', status: 400, body: decision },
];

export interface LargeUpstream {
  /** Entries for the API's configuration. */
  providers: object;
  models: object[];
  close(): void;
}

/** Upstream service that reads the whole request and answers briefly. */
export async function openLargeUpstream(): Promise<LargeUpstream> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider = {
    kind: 'openai',
    baseUrl: `http://127.0.0.1:${port}/v1`,
    allowPrivateNetwork: true,
  };
  const entry = { provider: 'large', privacy: 'private' };
  const capabilities = { supportsVision: true };
  const spec = { availableContextTokens: 1_000_000, capabilities, pricing: { input: PRICE, output: PRICE } };
  return {
    providers: { large: provider },
    models: [
      { ...entry, id: CHAT, type: 'text', spec: { name: CHAT, ...spec } },
      { ...entry, id: EMBEDDING, type: 'embedding', spec: { name: EMBEDDING, pricing: { input: PRICE } } },
    ],
    close: () => server.close(),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input?: string[] };
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
  const data = input?.map((_, index) => ({ object: 'embedding', index, embedding: 'AACAPw==' }));
  const choices = [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(data ? { object: 'list', data, usage } : { choices, usage }));
}
