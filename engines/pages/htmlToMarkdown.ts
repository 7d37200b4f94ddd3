/**
 * The main content of a page as markdown: Defuddle finds it; where it loses most of the page's text, as it does with indexes
 * and tables of links, the whole page without its frame is turned over instead. Runs in a child only.
 */
import { gfm } from '@joplin/turndown-plugin-gfm';
import { Defuddle } from 'defuddle/node';
import TurndownService from 'turndown';
import { baseOf, isHidden, type PageDocument, parsePage, visibleLength } from './pageDocument.ts';
import { plainTables } from './plainTables.ts';

export interface PageMarkdown {
  title: string | undefined;
  /** Empty: the page says nothing. */
  markdown: string;
}

/** Below this share of the page's text the content counts as not found. */
const MIN_SHARE = 0.2;
const FRAME = new Set(['nav', 'footer', 'aside', 'form']);

export async function htmlToMarkdown(html: string, url: string): Promise<PageMarkdown> {
  const document = parsePage(html, url);
  const base = baseOf(document, url);
  const textLength = visibleLength(document.body, FRAME);
  plainTables(document);
  const extracted = await extract(document, base);
  const kept = extracted === undefined ? 0 : lettersOf(extracted.markdown);
  if (extracted !== undefined && kept >= textLength * MIN_SHARE) return finish(extracted, url);
  // Defuddle may have changed its document before it failed.
  const title = extracted?.title ?? titleOf(document);
  return finish({ title, markdown: turnOver(parsePage(html, url)) }, url);
}

/** Undefined where the library fails on the page. */
async function extract(document: PageDocument, url: string): Promise<PageMarkdown | undefined> {
  const ownTitle = titleOf(document);
  try {
    // Both are looked for by the library and not there in linkedom.
    document.styleSheets ??= [];
    if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: '' });
    // Its scores take short blocks full of links for clutter: in manuals they are the signatures of what is described.
    const options = {
      markdown: true,
      useAsync: false,
      includeReplies: true,
      removeLowScoring: false,
    } as const;
    const { title, content } = await Defuddle(document as never, url, options);
    return { title: title.trim() || ownTitle, markdown: content.trim() };
  } catch {
    return undefined;
  }
}

function titleOf(document: PageDocument): string | undefined {
  const title = document.querySelector('title')?.textContent;
  return title?.replace(/\s+/g, ' ').trim() || undefined;
}

const DROPPED = 'script, style, noscript, template, svg, iframe, object, nav, footer, aside, form, head';

function turnOver(document: PageDocument): string {
  plainTables(document);
  for (const element of document.querySelectorAll(DROPPED)) element.remove();
  for (const element of document.querySelectorAll('[hidden], [style]')) if (isHidden(element)) element.remove();
  const turndown = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    hr: '---',
  });
  turndown.use(gfm);
  return turndown.turndown(document.body as never).trim();
}

function finish({ title, markdown }: PageMarkdown, url: string): PageMarkdown {
  if (markdown === '') return { title, markdown };
  return { title, markdown: wholeFragments(headed(markdown, title), url) };
}

/** The page's title stands first, once: Defuddle takes the first heading away or makes it one of the second rank. */
function headed(markdown: string, title: string | undefined): string {
  if (title === undefined || /^# /m.test(outsideFences(markdown))) return markdown;
  const first = /^## (.+)/.exec(markdown)?.[1]?.trim().toLowerCase();
  const repeats = first !== undefined && title.toLowerCase().includes(first);
  return repeats ? markdown.slice(1) : `# ${title}\n\n${markdown}`;
}

/** A link within the page leads to the page from wherever the text is read. */
function wholeFragments(markdown: string, url: string): string {
  let fenced = false;
  const lines = markdown.split('\n').map((line) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    return fenced ? line : line.replaceAll('](#', `](${url}#`);
  });
  return lines.join('\n');
}

function outsideFences(markdown: string): string {
  return markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, '');
}

function lettersOf(markdown: string): number {
  const [first = '', ...afterLinks] = markdown.split('](');
  // Addresses of links are no text of the page.
  const texts = [first, ...afterLinks.map((text) => text.slice(text.indexOf(')') + 1))];
  return texts.reduce((sum, text) => sum + text.replace(/\s+/g, '').length, 0);
}
