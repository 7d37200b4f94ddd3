/** Audio that the stub answers with, made without any tool. */

const FRAME_BYTES = 417;
const FRAMES_PER_SECOND = 44_100 / 1_152;

/** Silent MPEG-1 Layer III frames, 128 kbit/s, 44.1 kHz, mono: real MP3 that any decoder plays. */
export function silentMp3(seconds: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(0xfffb90c0, 0);
  return Buffer.concat(Array.from({ length: Math.ceil(seconds * FRAMES_PER_SECOND) }, () => frame));
}

/** 16-bit mono PCM silence at 8 kHz in a WAV. */
export function testWav(seconds: number): Buffer {
  const dataBytes = Math.round(seconds * 8_000) * 2;
  const wav = Buffer.alloc(44 + dataBytes);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(36 + dataBytes, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8_000, 24);
  wav.writeUInt32LE(16_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(dataBytes, 40);
  return wav;
}
