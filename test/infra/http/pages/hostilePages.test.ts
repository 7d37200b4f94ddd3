/** Pages made to exhaust their reader fail their own request and no other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longestTurn, MAX_TURN_MS } from '../../../harness/stall.ts';
import type { Behaviour } from '../hostileServer.ts';
import { article, openReaderWorld, page, type ReaderWorld } from './readerWorld.ts';

const WORDS = 'Some words that make a paragraph worth reading. '.repeat(8);
/** Enough to read one page; most hostile pages are aborted at its end. */
const CONVERT_TIMEOUT_MS = 1_500;
const TOO_COMPLEX = 'page_failed: The page is too complex to be read.';

const HOSTILE: Record<string, Behaviour> = {
  '/nested': page(article(`${'<div>'.repeat(1_000_000)}x`)),
  '/nested-inline': page(article(`${'<b>'.repeat(1_000_000)}x`)),
  '/nested-lists': page(article(`${'<ul><li>'.repeat(100_000)}x`)),
  '/nested-tables': page(article(`${'<table><tr><td>'.repeat(100_000)}x`)),
  '/many': page(article('<p>x'.repeat(2_000_000))),
  '/attributes': page(article(`<p ${Array.from({ length: 300_000 }, (_, index) => `a${index}="x"`).join(' ')}>x`)),
  '/one-attribute': page(article(`<p title="${'&amp;'.repeat(1_900_000)}">x</p>`)),
  '/spans': page(article(`<table>${'<tr><td colspan="1000" rowspan="65534">x'.repeat(20_000)}</table>`)),
  '/entities': page(
    `<?xml version="1.0"?><!DOCTYPE html [${Array.from({ length: 20 }, (_, level) => `<!ENTITY e${level + 1} "${`&e${level};`.repeat(10)}">`).join('')}]><html><body><p>&e20;${WORDS}</p></body></html>`,
  ),
  '/spaces': page(article(`<p>${' \n\t'.repeat(1_500_000)}x</p><pre>${' '.repeat(2_000_000)}</pre>`)),
  '/marks': page(article(`<p>${'*_`[('.repeat(400_000)}</p>`)),
  '/brackets': page(article(`<p>${'&lt;'.repeat(500_000)}</p>${'<'.repeat(1_000_000)}`)),
  '/comments': page(article(`${'<!--'.repeat(1_000_000)}x`)),
  '/classes': page(article(`<p class="${'a '.repeat(1_000_000)}">${WORDS}</p>`)),
};

let world: ReaderWorld;
beforeAll(async () => {
  world = await openReaderWorld({ ...HOSTILE, '/good': page(article(`<p>${WORDS}</p>`)) });
});
afterAll(() => world.close());

describe('a hostile page', () => {
  it.each(Object.keys(HOSTILE))('%s ends in time, and the next page is read', async (path) => {
    const outcome = await world.outcome(world.at(path), { convertTimeoutMs: CONVERT_TIMEOUT_MS });
    // The outcome depends on the library, but it must be one of these.
    expect(['read', TOO_COMPLEX, 'page_failed: The page is empty.']).toContain(outcome);
    expect(await world.outcome(world.at('/good'))).toBe('read');
  });

  it('does not block other work', async () => {
    const work = () => world.outcome(world.at('/spaces'), { convertTimeoutMs: CONVERT_TIMEOUT_MS });
    expect(await longestTurn(work, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
  });
});

describe('the markdown of a page', () => {
  it('contains no script, style or hidden text, and only web links', async () => {
    const { content } = await smuggled('');
    expect(content).not.toMatch(/alert|secret|javascript:|vbscript:|data:|blob:|file:|onclick|<script|<style|<iframe/i);
    expect(content).toContain('[relative](http://127.0.0.1');
    expect(content).toContain('/dir/other.html)');
    expect(content).toContain('[mail](mailto:a@example.com)');
    for (const name of ['js', 'spaced js', 'data link', 'file link']) {
      expect(content).toContain(name);
      expect(content).not.toContain(`[${name}]`);
    }
  });

  it('resolves links against the declared base of the page if that is a web URL', async () => {
    const declared = await smuggled('<base href="https://cdn.example.com/x/">');
    expect(declared.content).toContain('[relative](https://cdn.example.com/x/dir/other.html)');
    expect((await smuggled('<base href="javascript:alert(1)//">')).content).toContain('[relative](http://127.0.0.1');
  });

  it('causes no request but the page and its robots.txt', async () => {
    const other = await openReaderWorld({});
    await smuggled(`<link rel="stylesheet" href="${other.at('/a.css')}"><script src="${other.at('/a.js')}"></script>`);
    await smuggled(`<meta http-equiv="refresh" content="0; url=${other.at('/b')}">`);
    expect(other.server.requests).toEqual([]);
    await other.close();
  });

  async function smuggled(head: string) {
    const body = `<h2>Part</h2><p>${WORDS}</p>
      <p><a href="javascript:alert(1)">js</a> <a href=" &#9;java&#10;script:alert(1)">spaced js</a>
      <a href="data:text/html,<script>alert(1)</script>">data link</a> <a href="file:///etc/passwd">file link</a>
      <a href="dir/other.html" onclick="alert(1)">relative</a> <a href="mailto:a@example.com">mail</a></p>
      <img src="data:image/svg+xml,secret" alt="picture"><img src="dir/i.png" alt="pic" width="400" height="300" onerror="alert(1)">
      <script>alert("secret")</script><style>p{content:"secret"}</style><noscript>secret</noscript>
      <p style="display:none">secret</p><p hidden>secret</p><template>secret</template>
      <iframe src="javascript:alert(1)" srcdoc="secret"></iframe><object data="data:secret"></object>
      <p>${WORDS}</p>`;
    const site = await openReaderWorld({ '/page': page(article(body, head)) });
    return site.read(site.at('/page')).finally(() => site.close());
  }
});

it('is cut at the maximum length, and says so', async () => {
  const long = await openReaderWorld({ '/long': page('A line of text.\n'.repeat(300_000), 'text/plain') });
  const { content } = await long.read(long.at('/long'));
  await long.close();
  expect(content.length).toBeLessThan(2_000_100);
  expect(content).toMatch(/A line of text\.\n\n\[Cut here: the page has 4800000 characters\.\]$/);
});
