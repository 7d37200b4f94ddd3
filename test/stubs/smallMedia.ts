/** Outputs of media service stubs, made without any tool. */
import { silentMp3 } from './elevenlabsAudio.ts';

function box(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

/** MP4 container with brands, index and data. It cannot be played. */
export function smallMp4(brand = 'isom'): Buffer {
  const brands = Buffer.from(`${brand}\0\0\0\0${brand}`, 'latin1');
  return Buffer.concat([box('ftyp', brands), box('moov', Buffer.alloc(64)), box('mdat', Buffer.alloc(512, 7))]);
}

export const STUB_AUDIO = silentMp3(1);
export const STUB_VIDEO = smallMp4();
