/** Converts a page by its type. Runs in a child only, because parsers may loop or grow on untrusted bytes. */
import type { ChildAnswer } from '../child/childPool.ts';
import { decodePage } from './charset.ts';
import { htmlToMarkdown } from './htmlToMarkdown.ts';

export interface PageBytes {
  body: Uint8Array;
  contentType: string | undefined;
  /** URL of the page after redirects. */
  url: string;
}

export type PageConversion =
  | { status: 'done'; markdown: string; title: string | undefined }
  | { status: 'empty' }
  /** Not text according to type or bytes. */
  | { status: 'unsupported'; type: string };

/** Answer of the child about a page. */
export interface ConvertAnswer extends ChildAnswer {
  reply: PageConversion | { status: 'failed'; failed: string };
}

/** Longer text is cut, with a note. */
const MAX_CHARACTERS = 2_000_000;

type Kind = 'html' | 'plain' | { fence: string };

const KINDS: Record<string, Kind | undefined> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/plain': 'plain',
  'text/markdown': 'plain',
  'text/csv': { fence: 'csv' },
  'text/css': { fence: 'css' },
  'text/javascript': { fence: 'js' },
  'application/javascript': { fence: 'js' },
  'application/json': { fence: 'json' },
  'application/x-ndjson': { fence: 'json' },
  'application/yaml': { fence: 'yaml' },
  'text/yaml': { fence: 'yaml' },
  'text/xml': { fence: 'xml' },
  'application/xml': { fence: 'xml' },
};

export async function convertPage({ body, contentType, url }: PageBytes): Promise<PageConversion> {
  const kind = kindOf(contentType, body);
  if (kind === undefined || looksBinary(body)) return { status: 'unsupported', type: typeName(contentType) };
  const { text } = decodePage(body, contentType);
  if (text.trim() === '') return { status: 'empty' };
  if (kind === 'html') {
    const { title, markdown } = await htmlToMarkdown(text, url);
    return markdown === '' ? { status: 'empty' } : { status: 'done', markdown: shortened(markdown), title };
  }
  const markdown = kind === 'plain' ? shortened(text) : fenced(shortened(text), kind.fence);
  return { status: 'done', markdown, title: undefined };
}

function kindOf(contentType: string | undefined, body: Uint8Array): Kind | undefined {
  const type = mimeType(contentType);
  if (type === '') return looksLikeHtml(body) ? 'html' : 'plain';
  if (Object.hasOwn(KINDS, type)) return KINDS[type];
  if (type.endsWith('+json')) return { fence: 'json' };
  if (type.endsWith('+xml')) return { fence: 'xml' };
  return type.startsWith('text/') ? { fence: '' } : undefined;
}

function mimeType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function typeName(contentType: string | undefined): string {
  const type = mimeType(contentType);
  return /^[\w.+/-]{1,80}$/.test(type) ? type : 'something else';
}

function looksLikeHtml(body: Uint8Array): boolean {
  return /^\s*<(?:!doctype|html|head|body|!--|[a-z])/i.test(Buffer.from(body.subarray(0, 512)).toString('latin1'));
}

/** Bytes that never occur in text, except in UTF-16 with its byte order mark. */
function looksBinary(body: Uint8Array): boolean {
  const start = body.subarray(0, 1_024);
  const marked = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  if (marked) return false;
  return Buffer.from(start.subarray(0, 5)).toString('latin1') === '%PDF-' || start.includes(0);
}

function shortened(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  const cut = text.lastIndexOf('\n', MAX_CHARACTERS);
  const kept = text.slice(0, cut > MAX_CHARACTERS / 2 ? cut : MAX_CHARACTERS).toString();
  return `${kept}\n\n[Cut here: the page has ${text.length} characters.]`;
}

/** Uses a fence that is longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}
