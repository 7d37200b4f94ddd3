/**
 * Real pages of a dozen generators against approved markdown: headings, tables, code with its language, links. Their
 * origin, the approval and the known losses: test/fixtures/pages/SOURCES.md.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { convertPage } from '../../../../engines/pages/convertPage.ts';

const folder = new URL('../../../fixtures/pages/', import.meta.url);

/** URL of each page, and words from its beginning, middle and end that its markdown must contain. */
const PAGES: Record<string, { url: string; words: string[] }> = {
  asciidoc: {
    url: 'https://git-scm.com/docs/git-notes.html',
    words: [
      '# git-notes(1)',
      '## NAME',
      '## SYNOPSIS',
      "git notes add -m 'Tested-by",
      'Add or inspect object notes',
      '## ENVIRONMENT',
    ],
  },
  blog: {
    url: 'http://ebb.org/bkuhn/blog/2019/10/15/fsf-rms.html',
    words: [
      '# On Recent Controversial Events',
      'I have been silent the last month',
      'https://www.fsf.org/about/staff-and-board',
    ],
  },
  docbook: {
    url: 'https://www.postgresql.org/docs/15/datatype-numeric.html',
    words: ['Numeric Types', '| `smallint` | 2 bytes |', 'CREATE SEQUENCE'],
  },
  doxygen: {
    url: 'https://open-source-parsers.github.io/jsoncpp-docs/doxygen/class_json_1_1_char_reader.html',
    words: ['## Detailed Description', '## Member Function Documentation', '*endDoc*', 'errs'],
  },
  haddock: {
    url: 'https://hackage.haskell.org/package/random-1.2.1/docs/doc-index.html',
    words: ['AtomicGen', 'uniformShortByteString', 'System-Random-Stateful.html#'],
  },
  javadoc: {
    url: 'https://argparse4j.github.io/apidocs/net/sourceforge/argparse4j/inf/ArgumentParser.html',
    words: ['### Method Summary', '| Modifier and Type | Method | Description |', 'printVersion', 'addSubparsers'],
  },
  mdbook: {
    url: 'https://doc.rust-lang.org/book/ch04-01-what-is-ownership.html',
    words: ['# What Is Ownership?', '### Ownership Rules', '```rust', 'Chapter 3', 'String'],
  },
  mediawiki: {
    url: 'https://en.wikipedia.org/wiki/Mozilla',
    words: ['## History', 'Netscape', 'https://en.wikipedia.org/wiki/Mozilla_Foundation', '[^1]'],
  },
  rustdoc: {
    url: 'https://doc.rust-lang.org/std/time/struct.Instant.html',
    words: [
      '# Instant in std::time',
      '### impl Add\\<Duration> for Instant',
      '```rust',
      'duration\\_since',
      '| Platform | System call |',
    ],
  },
  sphinx: {
    url: 'https://www.attrs.org/en/22.2.0/init.html',
    words: [
      '# Initialization',
      '## Private Attributes and Aliases',
      '```python',
      'https://www.attrs.org/en/22.2.0/api.html#',
    ],
  },
  texi2html: {
    url: 'https://www.gnu.org/software/libunistring/manual/libunistring_11.html',
    words: ['Word breaks in strings', 'u8\\_wordbreaks', 'WBP\\_KATAKANA'],
  },
  wordpress: {
    url: 'https://blog.nightly.mozilla.org/2020/12/18/these-weeks-in-firefox-issue-85/',
    words: [
      '# These Weeks in Firefox: Issue 85',
      '### Highlights',
      'https://bugzilla.mozilla.org/show_bug.cgi?id=1553982',
    ],
  },
};

describe('a page by', () => {
  it.each(Object.keys(PAGES))('%s is converted faithfully', async (name) => {
    const { url, words } = PAGES[name] ?? { url: '', words: [] };
    const body = gunzipSync(readFileSync(new URL(`${name}.html.gz`, folder)));
    const conversion = await convertPage({ body, contentType: 'text/html', url });
    const markdown = conversion.status === 'done' ? conversion.markdown : conversion.status;
    for (const word of words) expect(markdown).toContain(word);
    expect(linksOf(markdown).filter((link) => !/^(?:https?:|mailto:)/.test(link))).toEqual([]);
    expect(markdown).not.toMatch(/<(?:script|style|iframe|table|div|span)\b/);
    await expect(`${markdown}\n`).toMatchFileSnapshot(new URL(`${name}.md`, folder).pathname);
  });
});

function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/^[\t >-]*```[\s\S]*?```/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(<?([^)\s>]*)/g)].map((match) => match[1] ?? '');
}
