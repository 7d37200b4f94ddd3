/** The voices of the local engine, and what each promises against the source. */

export interface LocalVoice {
  /** Fundamental frequency of the output over that of the source. */
  pitchRatio: number;
  /** The same for the formants, which say how large the speaker is. */
  formantRatio: number;
  description: string;
  /** What is done besides, in ffmpeg's filter language. */
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
