/**
 * Reading a 400 kB page: guarded fetch from a local server and conversion in a child process, against the library alone
 * in this process. Also measures the added lag of this process's event loop.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { createPageReader, type PageReader } from '../infra/http/pages/pageReader.ts';
import { percentile, reachesBars, round, timed } from './statistics.ts';

const PAGE_BYTES = 400_000;
const ROUNDS = 25;
const WARM_UP = 8;
const TICK_MS = 5;
const MAX_RATIO = 1.3;
/** At the 99th percentile. Conversion on this loop would add a second. The page's server is on this loop too. */
const MAX_ADDED_LAG_MS = 10;

export async function benchmarkScrape(): Promise<{ ok: boolean }> {
  const html = pageOf(PAGE_BYTES);
  const server = await startPageServer(html);
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reader = createPageReader({ allowPrivateHosts: [host], maxChildren: 1 });
  try {
    const url = `http://${host}/page`;
    const figures = { alone: [] as number[], reader: [] as number[] };
    for (let turn = 0; turn < WARM_UP + ROUNDS; turn += 1) {
      const alone = await timed(() => convertAlone(html, url));
      const through = await timed(() => readOnce(reader, url));
      if (turn < WARM_UP) continue;
      figures.alone.push(alone);
      figures.reader.push(through);
    }
    const quietLags = await lagsDuring(() => pause(5_000));
    const busyLags = await lagsDuring(async () => {
      for (let turn = 0; turn < ROUNDS; turn += 1) await readOnce(reader, url);
    });
    return reportFigures(figures, { quietLags, busyLags });
  } finally {
    reader.close();
    server.close();
  }
}

async function readOnce(reader: PageReader, url: string): Promise<void> {
  const { content } = await reader.read(url);
  if (content.length < PAGE_BYTES / 3) throw new Error('too little of the page was read');
}

async function convertAlone(html: string, url: string): Promise<void> {
  const { document } = parseHTML(html);
  Object.assign(document, { styleSheets: [] });
  const { content } = await Defuddle(document as never, url, {
    markdown: true,
    useAsync: false,
    removeLowScoring: false,
  });
  if (content.length < PAGE_BYTES / 3) throw new Error('too little of the page was read');
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Milliseconds by which timers fire late while the work runs. */
async function lagsDuring(work: () => Promise<void>): Promise<number[]> {
  const lags: number[] = [];
  let dueMs = performance.now() + TICK_MS;
  const ticker = setInterval(() => {
    const nowMs = performance.now();
    lags.push(Math.max(0, nowMs - dueMs));
    dueMs = nowMs + TICK_MS;
  }, TICK_MS);
  await work();
  clearInterval(ticker);
  return lags;
}

interface Lags {
  quietLags: number[];
  busyLags: number[];
}

function reportFigures(figures: { alone: number[]; reader: number[] }, { quietLags, busyLags }: Lags): { ok: boolean } {
  console.log(`scrape: a page of ${PAGE_BYTES / 1_000} kB, ${ROUNDS} times`);
  console.table(
    Object.entries(figures).map(([side, times]) => ({
      side,
      'p50 ms': round(percentile(times, 0.5)),
      'p90 ms': round(percentile(times, 0.9)),
    })),
  );
  const ratio = percentile(figures.reader, 0.5) / percentile(figures.alone, 0.5);
  const quiet = percentile(quietLags, 0.99);
  const busy = percentile(busyLags, 0.99);
  console.log(`  p99 lag of the event loop, ms: ${round(quiet)} at rest, ${round(busy)} while pages are read`);
  const isReached = reachesBars([
    ['p50 ÷ the library alone', ratio, '≤', MAX_RATIO],
    ['added lag, ms', busy - quiet, '≤', MAX_ADDED_LAG_MS],
  ]);
  return { ok: isReached };
}

function startPageServer(html: string): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url !== '/page') response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** HTML of a manual: sections of paragraphs with links, lists, a table and code. */
function pageOf(bytes: number): string {
  const sections: string[] = [];
  for (let index = 0, length = 0; length < bytes; index += 1) {
    const section = sectionOf(index);
    sections.push(section);
    length += section.length;
  }
  const frame = '<nav><a href="/">Home</a><a href="/about">About</a></nav>';
  const head = '<head><meta charset="utf-8"><title>A manual</title><style>p{margin:1em}</style></head>';
  return `<!doctype html><html>${head}<body>${frame}<main><h1>A manual</h1>${sections.join('')}</main></body></html>`;
}

function sectionOf(index: number): string {
  const words = `Part ${index} tells <b>what</b> the <code>call${index}()</code> does, see <a href="part/${index}">there</a>. `;
  const plain = 'The plain words of a manual go on for a while and say one thing after another. '.repeat(4);
  const rows = Array.from({ length: 4 }, (_, row) => `<tr><td>option${row}</td><td>${plain.slice(0, 60)}</td></tr>`);
  return `<h2 id="s${index}">Section ${index}</h2><p>${words}${plain}</p><p>${plain}</p>
<ul><li>${plain.slice(0, 50)}</li><li>${plain.slice(0, 70)}</li></ul>
<table><thead><tr><th>Name</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>
<pre><code class="language-js">const answer = call${index}();\nif (answer) use(answer);\n</code></pre>`;
}
