/**
 * Streams the tags and texts of XML and HTML in order, without a tree. Custom entities are never expanded, and nothing
 * is fetched.
 */
import { Parser } from 'htmlparser2';
import { type DecodedPieces, decodePieces } from './decodeText.ts';
import { MAX_DEPTH, UnreadableDocument } from './document.ts';
import type { Archive } from './zip.ts';

export type Attributes = Record<string, string>;

export interface MarkupHandler {
  /** XML names come without their prefix, because programs choose prefixes freely. */
  open?(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

type Language = 'xml' | 'html';

/** Does nothing when the archive lacks the part. */
export async function walkPart(archive: Archive, name: string, handler: MarkupHandler): Promise<void> {
  await walkMarkup(decodePieces(archive.read(name)), 'xml', handler);
}

export async function walkMarkup(pieces: DecodedPieces, language: Language, handler: MarkupHandler): Promise<void> {
  const parser = createParser(language, handler);
  for await (const piece of pieces) parser.write(piece);
  parser.end();
}

function createParser(language: Language, handler: MarkupHandler): Parser {
  const isXml = language === 'xml';
  const nameOf = isXml ? localName : (name: string) => name;
  let depth = 0;
  return new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        // The parser's time for a tag grows with its depth.
        if (depth > MAX_DEPTH) throw new UnreadableDocument('too_complex', 'tags are nested too deeply');
        handler.open?.(nameOf(name), attributes);
      },
      onclosetag(name) {
        depth -= 1;
        handler.close?.(nameOf(name));
      },
      ontext(text) {
        handler.text?.(text);
      },
      onprocessinginstruction(name) {
        // Office formats forbid document types, which are only needed to define entities.
        if (isXml && name.startsWith('!')) throw new UnreadableDocument('damaged', 'a document type in a part');
      },
    },
    { xmlMode: isXml, decodeEntities: true },
  );
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Value of the attribute of this name, with any prefix. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  const plain = attributes[name];
  if (plain !== undefined) return plain;
  for (const key in attributes) if (key.endsWith(name) && localName(key) === name) return attributes[key];
  return undefined;
}

/** Id of the relation that a tag refers to (`r:id`), not the tag's own `id`. */
export function relationOf(attributes: Attributes): string | undefined {
  for (const key in attributes) if (/:(id|embed|dm)$/.test(key)) return attributes[key];
  return undefined;
}
