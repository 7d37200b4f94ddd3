/** Voices of the local voice changer: their ratios to the source, and the ffmpeg filters that produce them. */
import { createHash } from 'node:crypto';

export interface LocalVoice {
  /** Fundamental frequency of the output divided by the source's. */
  pitchRatio: number;
  /** The same ratio for the formants, which indicate the size of the speaker. */
  formantRatio: number;
  description: string;
  /** Additional effect in ffmpeg's filter syntax. */
  effect?: string;
}

export const LOCAL_VOICES = {
  bass: { pitchRatio: 0.7, formantRatio: 0.86, description: 'A low, broad voice' },
  baritone: { pitchRatio: 0.85, formantRatio: 0.94, description: 'A little lower and darker' },
  tenor: { pitchRatio: 1.18, formantRatio: 1.03, description: 'A little higher and lighter' },
  alto: { pitchRatio: 1.35, formantRatio: 1.1, description: 'A warm higher voice' },
  soprano: { pitchRatio: 1.6, formantRatio: 1.16, description: 'A bright high voice' },
  child: { pitchRatio: 1.75, formantRatio: 1.32, description: 'A small, high voice' },
  giant: { pitchRatio: 0.58, formantRatio: 0.74, description: 'Far larger than life' },
  robot: {
    pitchRatio: 0.9,
    formantRatio: 1.08,
    description: 'A metallic voice out of a tin',
    effect: 'aecho=0.8:0.6:6|11:0.5|0.35',
  },
} as const satisfies Record<string, LocalVoice>;

export function localVoice(name: string): LocalVoice | undefined {
  return Object.hasOwn(LOCAL_VOICES, name) ? LOCAL_VOICES[name as keyof typeof LOCAL_VOICES] : undefined;
}

const RATE = 44_100;
/** Most that a seed shifts pitch and formants, as a share: another take of the same voice. */
const PITCH_PLAY = 0.006;
const FORMANT_PLAY = 0.015;
/** Appended silence, since the stretching filter may drop its last window. */
const TAIL_SECONDS = 0.08;

/** Cuts hum, which lies below every voice. Reduces hiss up to 28 dB below full scale by 20 dB. */
const WITHOUT_NOISE = ['highpass=f=80', 'highpass=f=80', 'afftdn=nr=20:nf=-28'];

interface Take {
  voice: LocalVoice;
  removeBackgroundNoise: boolean;
  /** Equal seeds give equal filter chains. */
  seed: string;
}

/**
 * Playing faster by the formant ratio shifts formants and pitch together. Stretching back to the old length with
 * preserved formants then sets the pitch.
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

/** Two numbers from −1 to 1, derived from the seed. */
function played(seed: string): { pitch: number; formant: number } {
  const digest = createHash('sha256').update(seed).digest();
  const at = (offset: number) => digest.readUInt32BE(offset) / 0x7fff_ffff - 1;
  return { pitch: at(0), formant: at(4) };
}

function fixed(value: number): string {
  return value.toFixed(9);
}
