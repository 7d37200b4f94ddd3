/** Audio that the stub accepts and returns, made without any tool. */
import { toneWav } from '../../bench/wav.ts';

const FRAME_BYTES = 417;
const FRAMES_PER_SECOND = 44_100 / 1_152;

/** Silent MPEG-1 Layer III frames: 128 kbit/s, 44.1 kHz, mono. Any decoder plays them. */
export function silentMp3(seconds: number): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(0xfffb90c0, 0);
  return Buffer.concat(Array.from({ length: Math.ceil(seconds * FRAMES_PER_SECOND) }, () => frame));
}

/** WAV at telephone rate. The stub derives the length from its size. */
export function testWav(seconds: number): Buffer {
  return toneWav(seconds, { sampleRate: 8_000, hz: 220, peak: 8_000 });
}

/** Audio in an order's format. Opus has only a valid beginning. */
export function audioOf(outputFormat: string, seconds: number): { type: string; audio: Buffer } {
  const codec = outputFormat.split('_')[0];
  if (codec === 'wav') return { type: 'audio/wav', audio: testWav(seconds) };
  if (codec === 'pcm') return { type: 'audio/pcm', audio: testWav(seconds).subarray(44) };
  if (codec === 'opus') {
    return { type: 'audio/opus', audio: Buffer.concat([Buffer.from('OggS'), Buffer.alloc(3_000, 1)]) };
  }
  return { type: 'audio/mpeg', audio: silentMp3(seconds) };
}
