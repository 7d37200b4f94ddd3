/** Parses a page into a complete and harmless tree. */
import { parseHTML } from 'linkedom';

/** The part of the DOM that is used here. The program is compiled without browser types. */
interface PageNode {
  nodeType: number;
  parentNode: PageNode | null;
  firstChild: PageNode | null;
  nextSibling: PageNode | null;
  data?: string;
}

export interface PageElement extends PageNode {
  localName: string;
  textContent: string;
  children: ArrayLike<PageElement>;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  hasAttribute(name: string): boolean;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  appendChild(node: PageNode): void;
  insertBefore(node: PageNode, before: PageNode | null): void;
  replaceWith(...nodes: (PageNode | string)[]): void;
  remove(): void;
}

export interface PageDocument extends PageElement {
  documentElement: PageElement;
  body: PageElement;
  createElement(name: string): PageElement;
  styleSheets?: unknown;
  defaultView?: { getComputedStyle?: unknown };
}

const HEAD_ONLY = new Set(['head', 'title', 'meta', 'link', 'base', 'script', 'style', 'noscript']);
/** Schemes that links in the result may have. Other links become plain text. */
const LINK_SCHEMES = new Set(['http:', 'https:', 'mailto:', 'tel:']);
const IMAGE_SCHEMES = new Set(['http:', 'https:']);

/** More tags would exceed the time limit, and deeper nesting the stack of the recursive libraries. */
const MAX_TAGS = 200_000;
const DEEPEST = 1_500;

/** Throws RangeError for pages with too many or too deeply nested tags. */
export function parsePage(html: string, url: string): PageDocument {
  refuseTooManyTags(html);
  const whole = /<html[\s>]/i.test(html) ? html : `<!doctype html><html><head></head><body>${html}</body></html>`;
  // linkedom's types require browser types.
  const document = parseHTML(whole).document as unknown as PageDocument;
  refuseTooDeep(document);
  completeBody(document);
  const base = baseOf(document, url);
  neutraliseLinks(document, base);
  keepHeadingWords(document);
  keepWordyHeader(document);
  return document;
}

function refuseTooManyTags(html: string): void {
  let count = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) count += 1;
  // Counts opening and closing tags.
  if (count > 2 * MAX_TAGS) throw new RangeError('too many tags');
}

function refuseTooDeep(document: PageDocument): void {
  let depth = 0;
  let node: PageNode = document.documentElement;
  for (;;) {
    if (node.firstChild !== null) {
      node = node.firstChild;
      depth += 1;
      if (depth > DEEPEST) throw new RangeError('too deep');
      continue;
    }
    while (node.nextSibling === null) {
      if (node.parentNode === null || depth === 0) return;
      node = node.parentNode;
      depth -= 1;
    }
    if (depth === 0) return;
    node = node.nextSibling;
  }
}

/** The parser does not add tags that HTML allows to omit. */
function completeBody(document: PageDocument): void {
  if (document.querySelector('body') !== null) return;
  const body = document.createElement('body');
  for (const child of [...childrenOf(document.documentElement)]) {
    const name = child.nodeType === 1 ? (child as PageElement).localName : '';
    if (!HEAD_ONLY.has(name)) body.appendChild(child);
  }
  document.documentElement.appendChild(body);
}

function* childrenOf(parent: PageNode): Generator<PageNode> {
  for (let child = parent.firstChild; child !== null; child = child.nextSibling) yield child;
}

/** Base URL of relative addresses in the page. */
export function baseOf(document: PageDocument, url: string): string {
  const declared = document.querySelector('base[href]')?.getAttribute('href');
  const base = declared ? absolute(declared, url) : undefined;
  return base !== undefined && IMAGE_SCHEMES.has(base.protocol) ? base.href : url;
}

function absolute(address: string, base: string): URL | undefined {
  try {
    return new URL(address, base);
  } catch {
    return undefined;
  }
}

/** Makes every address absolute or removes it. Fragments stay short, because footnotes are detected by them. */
function neutraliseLinks(document: PageDocument, base: string): void {
  for (const link of document.querySelectorAll('a[href], area[href]')) {
    const href = (link.getAttribute('href') ?? '').trim();
    if (href.startsWith('#')) continue;
    const target = absolute(href, base);
    if (target !== undefined && LINK_SCHEMES.has(target.protocol)) link.setAttribute('href', target.href);
    else link.removeAttribute('href');
  }
  for (const embedded of document.querySelectorAll('object, embed, iframe:not([src])')) embedded.remove();
  for (const frame of document.querySelectorAll('iframe[srcdoc]')) frame.removeAttribute('srcdoc');
  for (const image of document.querySelectorAll('[src]')) {
    const source = absolute((image.getAttribute('src') ?? '').trim(), base);
    if (source !== undefined && IMAGE_SCHEMES.has(source.protocol)) image.setAttribute('src', source.href);
    else if (image.localName === 'iframe') image.remove();
    else image.removeAttribute('src');
  }
}

/** Defuddle removes links to the heading itself. Keeps their text if it is the text of the heading. */
function keepHeadingWords(document: PageDocument): void {
  for (const link of document.querySelectorAll('h1 a, h2 a, h3 a, h4 a, h5 a, h6 a')) {
    if (!link.getAttribute('href')?.startsWith('#')) continue;
    const text = link.textContent.trim();
    const isMark = !/[\p{L}\p{N}]/u.test(text) || /^(?:perma)?link|^anchor$/i.test(text);
    if (!isMark) link.replaceWith(text);
  }
}

/** AsciiDoc manuals have their first section outside the content element, where Defuddle would ignore it. */
function keepWordyHeader(document: PageDocument): void {
  const header = document.querySelector('#header');
  const content = document.querySelector('#header + #content');
  if (!header?.querySelector('h2') || !header.querySelector('p') || content === null) return;
  header.removeAttribute('id');
  content.insertBefore(header, content.firstChild);
}

const UNSEEN = new Set(['script', 'style', 'noscript', 'template', 'head', 'svg', 'iframe', 'object', 'select']);

/** Length of the visible text without `skipped` elements. Iterative, because pages may nest deeper than the stack. */
export function visibleLength(root: PageElement, skipped: ReadonlySet<string>): number {
  let length = 0;
  let node: PageNode | null = root;
  while (node !== null) {
    if (node.nodeType === 3) length += (node.data ?? '').replace(/\s+/g, '').length;
    const enter: PageNode | null =
      node.nodeType === 1 && !isUnseen(node as PageElement, skipped) ? node.firstChild : null;
    if (enter !== null) node = enter;
    else node = after(node, root);
  }
  return length;
}

function isUnseen(element: PageElement, skipped: ReadonlySet<string>): boolean {
  return UNSEEN.has(element.localName) || skipped.has(element.localName) || isHidden(element);
}

export function isHidden(element: PageElement): boolean {
  if (element.hasAttribute('hidden')) return true;
  const style = element.getAttribute('style');
  return style !== null && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style);
}

function after(node: PageNode, root: PageNode): PageNode | null {
  for (let at: PageNode | null = node; at !== null && at !== root; at = at.parentNode) {
    if (at.nextSibling !== null) return at.nextSibling;
  }
  return null;
}
