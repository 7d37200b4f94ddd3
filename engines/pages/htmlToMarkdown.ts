/**
 * Converts the main content of a page, as found by Defuddle, to Markdown. Where Defuddle loses most of the text
 * (indexes, tables of links), the whole page without navigation is converted instead. Runs in a child only.
 */
import { gfm } from '@joplin/turndown-plugin-gfm';
import { Defuddle } from 'defuddle/node';
import TurndownService from 'turndown';
import { baseOf, isHidden, type PageDocument, parsePage, visibleLength } from './pageDocument.ts';
import { plainTables } from './plainTables.ts';

export interface PageMarkdown {
  title: string | undefined;
  /** Empty when the page has no text. */
  markdown: string;
}

/** Below this share of the page's text, the extraction counts as failed. */
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
  // Parses again, because Defuddle may have changed the document before it failed.
  const title = extracted?.title ?? titleOf(document);
  return finish({ title, markdown: turnOver(parsePage(html, url)) }, url);
}

/** Undefined when the library fails on the page. */
async function extract(document: PageDocument, url: string): Promise<PageMarkdown | undefined> {
  const ownTitle = titleOf(document);
  try {
    // The library requires both, but linkedom lacks them.
    document.styleSheets ??= [];
    if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: '' });
    // Scoring would drop short blocks full of links. In manuals these are the signatures of documented functions.
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

/** Puts the page's title first, once: Defuddle drops the first heading or turns it into a second-level one. */
function headed(markdown: string, title: string | undefined): string {
  if (title === undefined || /^# /m.test(outsideFences(markdown))) return markdown;
  const first = /^## (.+)/.exec(markdown)?.[1]?.trim().toLowerCase();
  const repeats = first !== undefined && title.toLowerCase().includes(first);
  return repeats ? markdown.slice(1) : `# ${title}\n\n${markdown}`;
}

/** Makes links within the page absolute, so that they work outside of it. */
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
  // Link addresses do not count as text.
  const texts = [first, ...afterLinks.map((text) => text.slice(text.indexOf(')') + 1))];
  return texts.reduce((sum, text) => sum + text.replace(/\s+/g, '').length, 0);
}
