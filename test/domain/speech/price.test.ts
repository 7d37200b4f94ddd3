/** Prices of transcripts and speech, against a separate calculation from the published table. */
import { describe, expect, it } from 'vitest';
import { ASR_MODELS, TTS_MODELS } from '../../../domain/catalogue/builtin/speech.ts';
import {
  billedMs,
  charactersOf,
  priceOfRecording,
  priceOfSpeech,
  recordingSnapshot,
  speechSnapshot,
} from '../../../domain/speech/price.ts';

/** Micro-dollars per million characters, copied by hand (MODEL-5). */
const SPOKEN: Record<string, bigint> = {
  'tts-chatterbox-hd': 50_000_000n,
  'tts-elevenlabs-turbo-v2-5': 62_500_000n,
  'tts-gemini-3-1-flash': 187_500_000n,
  'tts-gradium-v1': 47_500_000n,
  'tts-inworld-1-5-max': 12_500_000n,
  'tts-kokoro': 3_500_000n,
  'tts-minimax-speech-02-hd': 125_000_000n,
  'tts-orpheus': 62_500_000n,
  'tts-qwen3-0-6b': 87_500_000n,
  'tts-qwen3-1-7b': 112_500_000n,
  'tts-xai-v1': 18_750_000n,
};

/** Nano-dollars per second. */
const HEARD: Record<string, bigint> = {
  'elevenlabs/scribe-v2': 167_000n,
  'nvidia/parakeet-tdt-0.6b-v3': 100_000n,
  'openai/whisper-large-v3': 100_000n,
  'fal-ai/wizper': 100_000n,
  'stt-xai-v1': 31_480n,
};

describe('the price of every published speech model', () => {
  it('is in the table', () => {
    const published = TTS_MODELS.filter(({ provider }) => provider !== 'local').map(({ id }) => id);
    expect(published).toEqual(Object.keys(SPOKEN));
  });

  it.each(Object.entries(SPOKEN))('%s', (id, perMillion) => {
    const model = TTS_MODELS.find((each) => each.id === id);
    for (const characters of [1, 2, 3, 7, 13, 333, 1_000, 4_095, 4_096]) {
      const exact = perMillion * BigInt(characters);
      // Nano USD, with a remainder rounded up.
      const nano = exact / 1_000n + (exact % 1_000n === 0n ? 0n : 1n);
      expect(model && priceOfSpeech(model, characters), `${characters}`).toEqual({ usd: nano, diem: nano });
    }
  });
});

describe('the price of every published transcriber', () => {
  it('is part of the table', () => {
    const published = ASR_MODELS.filter(({ provider }) => provider !== 'local').map(({ id }) => id);
    expect(published).toEqual(Object.keys(HEARD));
  });

  it.each(Object.entries(HEARD))('%s', (id, perSecond) => {
    const model = ASR_MODELS.find((each) => each.id === id);
    for (const ms of [1, 10, 999, 1_000, 1_001, 11_000, 59_999, 60_049, 3_600_000, 7_200_000]) {
      const exact = perSecond * BigInt(ms);
      const nano = exact / 1_000n + (exact % 1_000n === 0n ? 0n : 1n);
      expect(model && priceOfRecording(model, ms), `${ms}`).toEqual({ usd: nano, diem: nano });
    }
  });
});

describe('billed units', () => {
  it.each([
    [11, 11_000],
    [0.000_02, 1],
    [1.000_4, 1_001],
    [2.999_999_999_9, 3_000],
    [3.000_000_000_1, 3_000],
    [7_200, 7_200_000],
  ])('%d decoded seconds are %d ms', (seconds, ms) => {
    expect(billedMs(seconds)).toBe(ms);
  });

  it.each([
    ['', 0],
    ['abc', 3],
    ['é', 1],
    ['😀', 1],
    ['a\u0301', 2],
    ['\ud800', 1],
  ])('%j has %d characters', (text, characters) => {
    expect(charactersOf(text)).toBe(characters);
  });

  it('are recorded in the ledger', () => {
    const [speaker] = TTS_MODELS;
    const [transcriber] = ASR_MODELS;
    if (!speaker || !transcriber) throw new Error('no models');
    expect(speechSnapshot(speaker, { characters: 4_096, requestId: 'r' })).toMatchObject({
      ...{ units: '0.004096', unit: 'million characters', pricePerUnitUsd: '50000000000', requestId: 'r' },
    });
    expect(recordingSnapshot(transcriber, { ms: 11_005, requestId: 'r' })).toMatchObject({
      ...{ units: '11.005', unit: 'audio seconds', pricePerUnitUsd: '167000', requestId: 'r' },
    });
  });
});
