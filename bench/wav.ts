export interface Tone {
  sampleRate: number;
  hz: number;
  /** Largest sample. The maximum is 32,767. */
  peak: number;
}

const QUIET_A: Tone = { sampleRate: 16_000, hz: 440, peak: 3_000 };

/** WAV of a tone: 16 bit, mono. */
export function toneWav(seconds: number, { sampleRate, hz, peak }: Tone = QUIET_A): Buffer {
  const samples = Math.round(sampleRate * seconds);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + samples * 2, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(sampleRate, 24);
  wav.writeUInt32LE(sampleRate * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index += 1) {
    const sample = peak * Math.sin((index / sampleRate) * hz * 2 * Math.PI);
    wav.writeInt16LE(Math.round(sample), 44 + index * 2);
  }
  return wav;
}
