/** Pictures with as much content as the inspection reads: headers with a size. */
import { crc32, deflateSync } from 'node:zlib';

function chunk(name: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(content.length, 0);
  around.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
}

/** Complete when small. A large one declares its size and has almost no pixels, like a decompression bomb. */
export function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const pixels = Buffer.alloc(Math.min((width + 1) * height, 100_000));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Has camera metadata before the frame. */
export function jpeg(width: number, height: number): Buffer {
  const camera = Buffer.from([0xff, 0xe1, 0x01, 0x00, ...Buffer.alloc(254)]);
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), camera, frame, Buffer.from([0xff, 0xda, 0, 8])]);
}

export function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.write(`RIFF\x20\0\0\0WEBP${kind}`, 'latin1');
  if (kind === 'VP8 ') {
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(height, 28);
  } else if (kind === 'VP8L') {
    bytes[20] = 0x2f;
    bytes.writeUInt32LE(((height - 1) * 2 ** 14 + (width - 1)) >>> 0, 21);
  } else {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  }
  return bytes;
}

/** Has two items: a small preview and the picture. */
export function heif(brand: string, width: number, height: number): Buffer {
  const size = (w: number, h: number) => {
    const box = Buffer.alloc(20);
    box.write('\0\0\0\x14ispe', 'latin1');
    box.writeUInt32BE(w, 12);
    box.writeUInt32BE(h, 16);
    return box;
  };
  const head = Buffer.from(`\0\0\0\x10ftyp${brand}\0\0\0\0`, 'latin1');
  return Buffer.concat([head, size(16, 16), size(width, height)]);
}

/** Has this number of frames of one pixel each. */
export function gif(frames: number): Buffer {
  const head = Buffer.from('GIF89a\x40\0\x40\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  const frame = Buffer.from(',\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0', 'latin1');
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from(';')]);
}

export function dataUrl(bytes: Buffer, type = 'image/png'): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}
