/** Archives for tests, with true or false sizes and offsets. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface Part {
  name: string;
  content: string | Buffer;
  /** Size in the header; default: the true one. */
  declaredBytes?: number;
  /** Offset in the header; default: the true one. */
  declaredOffset?: number;
  flags?: number;
}

export function zip(parts: Part[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const part of parts) {
    const content = Buffer.from(part.content);
    const packed = deflateRawSync(content);
    const sizes = { crc: crc32(content), packed: packed.length, bytes: part.declaredBytes ?? content.length };
    const body = Buffer.concat([header(part, sizes), Buffer.from(part.name), packed]);
    directory.push(entry(part, sizes, part.declaredOffset ?? offset), Buffer.from(part.name));
    bodies.push(body);
    offset += body.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, list, end]);
}

interface Sizes {
  crc: number;
  packed: number;
  bytes: number;
}

function header({ name, flags = 0 }: Part, { crc, packed, bytes }: Sizes): Buffer {
  const local = Buffer.alloc(30);
  local.write('PK\x03\x04', 'latin1');
  local.writeUInt16LE(flags, 6);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(crc, 14);
  local.writeUInt32LE(packed, 18);
  local.writeUInt32LE(bytes, 22);
  local.writeUInt16LE(Buffer.byteLength(name), 26);
  return local;
}

function entry({ name, flags = 0 }: Part, { crc, packed, bytes }: Sizes, offset: number): Buffer {
  const central = Buffer.alloc(46);
  central.write('PK\x01\x02', 'latin1');
  central.writeUInt16LE(flags, 8);
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(crc, 16);
  central.writeUInt32LE(packed, 20);
  central.writeUInt32LE(bytes, 24);
  central.writeUInt16LE(Buffer.byteLength(name), 28);
  central.writeUInt32LE(offset, 42);
  return central;
}

const OFFICE = {
  docx: { main: 'word/document.xml', type: 'wordprocessingml.document' },
  xlsx: { main: 'xl/workbook.xml', type: 'spreadsheetml.sheet' },
  pptx: { main: 'ppt/presentation.xml', type: 'presentationml.presentation' },
};

export function officeParts(kind: keyof typeof OFFICE, main: string | Buffer, more: Part[] = []): Part[] {
  const { main: path, type } = OFFICE[kind];
  return [
    {
      name: '[Content_Types].xml',
      content: `<Types><Override PartName="/${path}" ContentType="application/vnd.openxmlformats-officedocument.${type}.main+xml"/></Types>`,
    },
    { name: '_rels/.rels', content: relations([['rId1', 'officeDocument', path]]) },
    { name: path, content: main },
    ...more,
  ];
}

export function docx(body: string, more: Part[] = []): Buffer {
  return zip(officeParts('docx', `<w:document><w:body>${body}</w:body></w:document>`, more));
}

export function xlsx(rows: string, more: [string, string][] = []): Buffer {
  const sheets = '<workbook><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>';
  const types: [string, string, string][] = more.map(([type]) => [type, type, `${type}.xml`]);
  return zip(
    officeParts('xlsx', sheets, [
      {
        name: 'xl/_rels/workbook.xml.rels',
        content: relations([['rId1', 'worksheet', 'sheet.xml'], ...types]),
      },
      { name: 'xl/sheet.xml', content: `<worksheet><sheetData>${rows}</sheetData></worksheet>` },
      ...more.map(([type, content]) => ({ name: `xl/${type}.xml`, content })),
    ]),
  );
}

function relations(list: [id: string, type: string, target: string][]): string {
  const each = list.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="http://x/${type}" Target="${target}"/>`,
  );
  return `<Relationships>${each.join('')}</Relationships>`;
}

/** `objects` in the order of their numbers; the first is the catalogue. */
export function pdf(objects: (string | Buffer)[]): Buffer {
  const pieces = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let at = 9;
  for (const [index, object] of objects.entries()) {
    const piece = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]);
    offsets.push(at);
    at += piece.length;
    pieces.push(piece);
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`;
  const trailer = `trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${at}\n%%EOF`;
  return Buffer.concat([...pieces, Buffer.from(table + trailer)]);
}
