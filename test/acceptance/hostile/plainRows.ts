/** Hostile requests that need only an API, a site and a funded account. Other files add rows. */
import { xlsx } from '../../engines/documents/archives.ts';
import { type Answer, ask, formOf, type HostileRow, type HostileTarget, postJson, sendBytes, sendRaw } from './row.ts';

const EMBEDDING = 'local-lexical-embedding';
const VECTORS = /^\{"object":"list","model":"local-lexical-embedding","data":\[\{"object":"embedding","index":0,/;
const TOO_MANY_RULES = { status: 400, body: /too many rules for an address of this length/, charged: 0n };
const letters = (count: number) => 'ab cd'.repeat(count / 5);

interface PlainTarget extends HostileTarget {
  /** Site whose robots.txt has a thousand long rules that nearly match. */
  ruledSite: string;
}
type Row = HostileRow<PlainTarget>;

export const PLAIN_ROWS: readonly Row[] = [
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
    name: '582 embeddings of 27,500 letters',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(582).fill(letters(27_500)) }),
    ...{ status: 200, body: VECTORS },
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
    name: 'a conversation of 2 MB in chunks of one byte',
    send: sendBytes('/chat/completions', 2_000_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
  },
  ...['/embeddings', '/video/queue'].map(
    (path): Row => ({
      name: `a megabyte for ${path} in chunks of one byte`,
      send: sendBytes(path, 1_000_000),
      ...{ status: 400, body: /Invalid JSON/, charged: 0n },
    }),
  ),
  ...[100, 1_048_576, 2_000_000].map(
    (bytes): Row => ({
      name: `the call of an unknown job with ${bytes} bytes`,
      send: ({ origin }) =>
        ask(origin, '/provider-callbacks/a/b/c', { key: undefined, body: { padding: 'x'.repeat(bytes) } }),
      ...{ status: 404, body: /does not exist/, charged: 0n },
    }),
  ),
  {
    name: 'the call of an unknown job that waits to be asked for its body',
    send: ({ origin }) => sendRaw(origin, { head: AWAITED, pieces: () => [] }),
    ...{ status: 404, body: /does not exist/, charged: 0n },
  },
  {
    name: 'six conversations at once in chunks of one byte',
    send: sixBodies(300_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
  },
  {
    name: 'a site whose robots.txt names everybody 10,000 times',
    send: async (target) => await postJson('/augment/scrape', { url: `${target.site}/page` })(target),
    ...{ status: 200, body: /Words of a page/, charged: 10_000_000n, seen: ['/robots.txt', '/page'] },
  },
  {
    name: 'an address of 1,400 letters that a thousand rules nearly match',
    send: scrapeRuled(`/${'a'.repeat(1_400)}`),
    ...{ status: 200, charged: 10_000_000n, body: /Words of a page/ },
    seen: ['/robots.txt', `/${'a'.repeat(1_400)}`],
  },
  {
    name: 'an address of 4,000 letters that a thousand rules nearly match',
    send: scrapeRuled(`/${'a'.repeat(4_000)}`),
    ...TOO_MANY_RULES,
  },
  {
    name: 'a redirect to 4,000 letters that a thousand rules nearly match',
    send: scrapeRuled('/moved'),
    ...{ ...TOO_MANY_RULES, seen: ['/moved'] },
  },
  {
    name: 'a page of 40 kB of begun links',
    send: async (target) => await postJson('/augment/scrape', { url: `${target.site}/links` })(target),
    ...{ status: 200, body: /\]/, charged: 10_000_000n, seen: ['/links'] },
  },
  {
    name: 'a page of 15,000 line breaks',
    send: async (target) => await postJson('/augment/scrape', { url: `${target.site}/breaks` })(target),
    ...{ status: 200, body: /Words of a page/, charged: 10_000_000n, seen: ['/breaks'] },
  },
  ...[20_000, 40_000, 1_000_000].map(
    (blanks): Row => ({
      name: `a workbook with a cell of ${blanks} blanks`,
      send: (target) => parseDocument(target, blanks),
      ...{ status: 200, body: /Data\]\\na +/, charged: 10_000_000n },
    }),
  ),
  {
    name: 'six workbooks at once with a cell of a million blanks each',
    send: async (target) => await sixTimes(() => parseDocument(target, 1_000_000)),
    ...{ status: 200, body: /Data\]\\na +/, charged: 60_000_000n },
  },
  {
    name: '35 MB of embeddings',
    send: postJson('/embeddings', { model: EMBEDDING, input: Array(1_200).fill(letters(27_500)) }),
    ...{ status: 200, body: VECTORS },
  },
];

function scrapeRuled(path: string) {
  return (target: PlainTarget) => postJson('/augment/scrape', { url: `${target.ruledSite}${path}` })(target);
}

/** Request whose client waits for `100 Continue`. */
const AWAITED =
  'POST /api/v1/provider-callbacks/a/b/c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n' +
  'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n';

/** A workbook of a few kilobytes. */
export function workbook(blanks: number): Buffer {
  const cell = `<c r="A1" t="inlineStr"><is><t>a${' '.repeat(blanks)}b</t></is></c>`;
  return xlsx(`<row r="1">${cell}</row>`);
}

function parseDocument({ origin, key }: HostileTarget, blanks: number): Promise<Answer> {
  return ask(origin, '/augment/text-parser', { key, body: formOf(workbook(blanks), 'blanks.xlsx') });
}

export function sixBodies(bytes: number) {
  return (target: Pick<HostileTarget, 'origin' | 'key'>) =>
    sixTimes(() => sendBytes('/chat/completions', bytes)(target));
}

/** Sends six at once. Returns the answer with the highest status. */
async function sixTimes(send: () => Promise<Answer>): Promise<Answer> {
  const answers = await Promise.all(Array.from({ length: 6 }, send));
  return answers.reduce((worst, answer) => (answer.status > worst.status ? answer : worst));
}
