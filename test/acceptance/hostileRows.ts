/** Single requests that are cheap to send and were dear to serve. Others add rows. */
import { connect } from 'node:net';
import { xlsx } from '../infra/documents/archives.ts';

export interface HostileTarget {
  origin: string;
  /** Of an account with funds. */
  key: string;
  /** A site whose robots.txt and pages are hostile; the API may read it. */
  site: string;
}

export interface HostileRow {
  name: string;
  send(target: HostileTarget): Promise<{ status: number; body: string }>;
  status: number;
  /** What the body has. */
  body: RegExp;
  /** USD in nano units; left out: more than nothing, by its tokens. */
  charged?: bigint;
  /** The paths that the site was asked for. */
  seen?: readonly string[];
}

const EMBEDDING = 'local-lexical-embedding';
const VECTORS =
  /^\{"object":"list","model":"local-lexical-embedding","data":\[\{"object":"embedding","index":0,/;
const letters = (count: number) => 'ab cd'.repeat(count / 5);

export const HOSTILE_ROWS: readonly HostileRow[] = [
  {
    name: '2,048 embeddings of 65,536 dimensions',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(2_048).fill('a'), dimensions: 65_536 }),
    ...{ status: 400, body: /At most 2,048 for this model/, charged: 0n },
  },
  {
    name: '4 embeddings of 65,536 dimensions',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(4).fill('a'), dimensions: 65_536 }),
    ...{ status: 400, body: /At most 2,048 for this model/, charged: 0n },
  },
  {
    name: '2,048 embeddings of one letter',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(2_048).fill('a') }),
    ...{ status: 200, body: VECTORS, charged: 20_480n },
  },
  {
    name: '58 embeddings of 27,500 letters',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(58).fill(letters(27_500)) }),
    ...{ status: 200, body: VECTORS },
  },
  {
    name: 'the call of an unknown job in chunks of one byte',
    send: sendBytes('/provider-callbacks/a/b/c', 1_000_000),
    ...{ status: 404, body: /does not exist/, charged: 0n },
  },
  {
    name: 'a key for a wallet in chunks of one byte',
    send: sendBytes('/api_keys/generate_web3_key', 60_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
  },
  {
    name: 'a conversation in chunks of one byte',
    send: sendBytes('/chat/completions', 1_000_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
  },
  {
    name: 'embeddings in chunks of one byte',
    send: sendBytes('/embeddings', 1_000_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
  },
  {
    name: 'a site whose robots.txt names everybody 10,000 times',
    send: async (target) => await postJson('/augment/scrape', { url: `${target.site}/page` })(target),
    ...{ status: 200, body: /Words of a page/, charged: 10_000_000n, seen: ['/robots.txt', '/page'] },
  },
  {
    name: 'a page of 40 kB of begun links',
    send: async (target) => await postJson('/augment/scrape', { url: `${target.site}/links` })(target),
    ...{ status: 200, body: /\]/, charged: 10_000_000n, seen: ['/links'] },
  },
  {
    name: 'a workbook with a cell of a million blanks',
    send: sendWorkbook,
    ...{ status: 200, body: /Data\]\\na +/, charged: 10_000_000n },
  },
  {
    name: '35 MB of embeddings',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(1_200).fill(letters(27_500)) }),
    ...{ status: 200, body: VECTORS },
  },
];

function postJson(path: string, body: object): HostileRow['send'] {
  return async ({ origin, key }) => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.text() };
  };
}

async function sendWorkbook({ origin, key }: HostileTarget) {
  const cell = `<c r="A1" t="inlineStr"><is><t>a${' '.repeat(1_000_000)}b</t></is></c>`;
  const form = new FormData();
  form.set('file', new Blob([xlsx(`<row r="1">${cell}</row>`)]), 'blanks.xlsx');
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${origin}/api/v1/augment/text-parser`, {
    method: 'POST',
    headers,
    body: form,
  });
  return { status: response.status, body: await response.text() };
}

/** A body of so many bytes that is no JSON, each in a chunk of its own. */
function sendBytes(path: string, count: number): HostileRow['send'] {
  const head = (key: string) =>
    `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n` +
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  return ({ origin, key }) =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(origin).port), '127.0.0.1');
      const answer: Buffer[] = [];
      const end = () => {
        const text = Buffer.concat(answer).toString();
        const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
        resolve({ status, body: text.slice(text.indexOf('\r\n\r\n') + 4) });
      };
      socket.on('data', (bytes) => answer.push(bytes));
      socket.on('close', end);
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
      });
      socket.write(head(key));
      socket.write(Buffer.from('1\r\nx\r\n'.repeat(count)));
      socket.write('0\r\n\r\n');
    });
}
