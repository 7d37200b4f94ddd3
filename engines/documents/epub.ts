/** Reads the chapters of a book in reading order. Each is an HTML page. */
import { posix } from 'node:path';
import { decodePieces } from './decodeText.ts';
import { type DocumentText, UnreadableDocument } from './document.ts';
import { HtmlWalk } from './html.ts';
import { walkMarkup, walkPart } from './markup.ts';
import { TextSink } from './textSink.ts';
import type { Archive } from './zip.ts';

export async function readEpub(archive: Archive): Promise<DocumentText> {
  let root: string | undefined;
  await walkPart(archive, 'META-INF/container.xml', {
    open(name, attributes) {
      if (name === 'rootfile') root ??= attributes['full-path'];
    },
  });
  if (root === undefined) throw new UnreadableDocument('damaged', 'the book names no contents');
  const chapters = await readSpine(archive, root);
  await refuseEncrypted(archive, chapters);
  const sink = new TextSink();
  for (const chapter of chapters) {
    const text = await readChapter(archive, chapter);
    if (text !== '') sink.paragraph(text);
  }
  return { kind: 'epub', text: sink.text };
}

async function readSpine(archive: Archive, root: string): Promise<string[]> {
  const items = new Map<string, string>();
  const chapters: string[] = [];
  await walkPart(archive, root, {
    open(name, { id = '', href = '', idref = '' }) {
      if (name === 'item') items.set(id, pathOf(root, href));
      const chapter = name === 'itemref' ? items.get(idref) : undefined;
      if (chapter !== undefined) chapters.push(chapter);
    },
  });
  return chapters;
}

function pathOf(root: string, href: string): string {
  const path = href.split('#')[0] ?? '';
  try {
    return posix.join(posix.dirname(root), decodeURIComponent(path));
  } catch {
    return posix.join(posix.dirname(root), path);
  }
}

/** Any book may have encrypted fonts. Encrypted chapters mean a protected book. */
async function refuseEncrypted(archive: Archive, chapters: string[]): Promise<void> {
  await walkPart(archive, 'META-INF/encryption.xml', {
    open(name, { URI = '' }) {
      if (name === 'CipherReference' && chapters.includes(pathOf('book', URI))) {
        throw new UnreadableDocument('protected');
      }
    },
  });
}

async function readChapter(archive: Archive, chapter: string): Promise<string> {
  const sink = new TextSink();
  const walk = new HtmlWalk(sink);
  let inHead = false;
  await walkMarkup(decodePieces(archive.read(chapter)), 'html', {
    open(name, attributes) {
      if (name === 'head') inHead = true;
      if (!inHead) walk.open(name, attributes);
    },
    text: (text) => inHead || walk.text(text),
    close(name) {
      if (!inHead) walk.close(name);
      if (name === 'head') inHead = false;
    },
  });
  return sink.text.trim();
}
