/** Reads how the parts of an Office document refer to each other. */
import { posix } from 'node:path';
import { type Attributes, walkPart } from '../markup.ts';
import type { Archive } from '../zip.ts';

export interface Relation {
  id: string;
  /** Last segment of the type URI. Transitional and strict documents differ before it. */
  type: string;
  /** Path of the target part in the archive. */
  target: string;
}

/** Relations of a part, or of the whole archive. External targets are omitted: nothing is fetched. */
export async function relationsOf(archive: Archive, part = ''): Promise<Relation[]> {
  const folder = posix.dirname(part);
  const relations: Relation[] = [];
  await walkPart(archive, posix.join(folder, '_rels', `${posix.basename(part)}.rels`), {
    open(name, attributes) {
      if (name === 'Relationship' && attributes.TargetMode !== 'External') {
        relations.push(toRelation(folder, attributes));
      }
    },
  });
  return relations;
}

function toRelation(folder: string, { Id = '', Type = '', Target = '' }: Attributes): Relation {
  const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
  return { id: Id, type: Type.slice(Type.lastIndexOf('/') + 1), target };
}

export function targetOf(relations: Relation[], type: string): string | undefined {
  return relations.find((relation) => relation.type === type)?.target;
}

export type OfficeKind = 'docx' | 'pptx' | 'xlsx';

export interface OfficeDocument {
  kind: OfficeKind | undefined;
  /** Path of the main part in the archive. */
  main: string;
}

/** Undefined when the archive is not an Office document. */
export async function officeDocument(archive: Archive): Promise<OfficeDocument | undefined> {
  const main = targetOf(await relationsOf(archive), 'officeDocument');
  if (main === undefined) return undefined;
  const types = new Map<string, string>();
  await walkPart(archive, '[Content_Types].xml', {
    open(name, { PartName = '', Extension = '', ContentType = '' }) {
      if (name === 'Override') types.set(PartName.replace(/^\//, '').toLowerCase(), ContentType);
      if (name === 'Default') types.set(`*.${Extension.toLowerCase()}`, ContentType);
    },
  });
  const type = types.get(main.toLowerCase()) ?? types.get(`*${posix.extname(main).toLowerCase()}`) ?? '';
  return { kind: kindOf(type.toLowerCase()), main };
}

function kindOf(type: string): OfficeKind | undefined {
  if (type.includes('binary')) return undefined;
  if (/wordprocessingml|ms-word/.test(type)) return 'docx';
  if (/presentationml|ms-powerpoint/.test(type)) return 'pptx';
  return /spreadsheetml|ms-excel/.test(type) ? 'xlsx' : undefined;
}
