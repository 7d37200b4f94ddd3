/** A voice as an ffmpeg filter chain. */
import { createHash } from 'node:crypto';
import type { LocalVoice } from './voices.ts';

const RATE = 44_100;
/** A seed moves pitch and formants by at most this share: another take of the same voice. */
const PITCH_PLAY = 0.006;
const FORMANT_PLAY = 0.015;
/** The stretching filter may swallow its last window; silence is what it may swallow. */
const TAIL_SECONDS = 0.08;

/** Hum lies below every voice; hiss up to 28 dB below full scale is taken down by 20 dB. */
const WITHOUT_NOISE = ['highpass=f=80', 'highpass=f=80', 'afftdn=nr=20:nf=-28'];

export interface Take {
  voice: LocalVoice;
  removeBackgroundNoise: boolean;
  /** Equal seeds give equal chains. */
  seed: string;
}

/**
 * Playing faster by the formant ratio moves formants and pitch together; stretching back to the old length while the
 * formants are kept moves the pitch to where it belongs.
 */
export function filterChain({ voice, removeBackgroundNoise, seed }: Take): string {
  const play = played(seed);
  const formant = voice.formantRatio * (1 + FORMANT_PLAY * play.formant);
  const pitch = voice.pitchRatio * (1 + PITCH_PLAY * play.pitch);
  const fastRate = Math.round(RATE * formant);
  const stretch = fastRate / RATE;
  return [
    `aresample=${RATE}`,
    ...(removeBackgroundNoise ? WITHOUT_NOISE : []),
    `apad=pad_dur=${TAIL_SECONDS}`,
    `asetrate=${fastRate}`,
    `rubberband=tempo=${fixed(1 / stretch)}:pitch=${fixed(pitch / stretch)}:formant=preserved`,
    `aresample=${RATE}`,
    ...(voice.effect === undefined ? [] : [voice.effect]),
    'alimiter=limit=0.97:level=disabled',
  ].join(',');
}

/** Two numbers from −1 to 1. */
function played(seed: string): { pitch: number; formant: number } {
  const digest = createHash('sha256').update(seed).digest();
  const at = (offset: number) => digest.readUInt32BE(offset) / 0x7fff_ffff - 1;
  return { pitch: at(0), formant: at(4) };
}

function fixed(value: number): string {
  return value.toFixed(9);
}
