/**
 * Walks XML and HTML as it comes, without a tree: the tags and texts in their order. Entities of a document's own are never
 * expanded, and nothing that it points at is fetched.
 */
import { Parser } from 'htmlparser2';
import { type DecodedPieces, decodePieces } from './decodeText.ts';
import { MAX_DEPTH, UnreadableDocument } from './document.ts';
import type { Archive } from './zip.ts';

export type Attributes = Record<string, string>;

export interface MarkupHandler {
  /** Of XML, the name without its prefix: programs choose prefixes as they like. */
  open?(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

type Language = 'xml' | 'html';

/** Does nothing when the archive has no such part. */
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
        // The time that the parser takes for a tag grows with how deep it is.
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
        // Office formats forbid it; what comes with one wants to define entities.
        if (isXml && name.startsWith('!')) throw new UnreadableDocument('damaged', 'a document type in a part');
      },
    },
    { xmlMode: isXml, decodeEntities: true },
  );
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The attribute of this name, whatever its prefix. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  const plain = attributes[name];
  if (plain !== undefined) return plain;
  for (const key in attributes) if (key.endsWith(name) && localName(key) === name) return attributes[key];
  return undefined;
}

/** The relation that a tag names (`r:id`), which is not its own `id`. */
export function relationOf(attributes: Attributes): string | undefined {
  for (const key in attributes) if (/:(id|embed|dm)$/.test(key)) return attributes[key];
  return undefined;
}
