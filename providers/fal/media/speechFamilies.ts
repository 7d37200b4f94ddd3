/** Parameters of fal's speech models. Source: as in imageFamilies.ts. */
import { languageName } from '../../shared/languageNames.ts';
import type { SpeechOrder } from '../../shared/mediaProvider.ts';
import { definedFields, type Fields } from '../../shared/textFailures.ts';
import { longestPrefixRow } from '../service.ts';

/** `voice`: a voice of the model, or the URL of a sample. */
type FalSpeechWriter = (order: SpeechOrder, voice: { name?: string; sampleUrl?: string }) => Fields;

interface SpeechFamily {
  write: FalSpeechWriter;
  /** Voice cloning: the sample goes with every order, or an endpoint registers it and returns a name. */
  cloning?: 'sample' | { endpoint: string; input: (sampleUrl: string, endpoint: string) => Fields };
}

const plain: FalSpeechWriter = ({ text, speed, language }, { name }) => ({
  text,
  voice: name,
  speed: speed === 1 ? undefined : speed,
  language,
});

const kokoro: FalSpeechWriter = ({ text, speed }, { name }) => ({ prompt: text, voice: name, speed });

const chatterbox: FalSpeechWriter = ({ text, temperature }, { sampleUrl }) => ({
  text,
  audio_url: sampleUrl,
  temperature,
});

const chatterboxHd: FalSpeechWriter = ({ text, temperature }, { name, sampleUrl }) => ({
  text,
  ...(sampleUrl === undefined ? { voice: name } : { audio_url: sampleUrl }),
  temperature,
  high_quality_audio: true,
});

/** `voice` is a language name, which selects its default voice, or the URL of a sample. */
const chatterboxMultilingual: FalSpeechWriter = ({ text, temperature, language }, { name, sampleUrl }) => ({
  text,
  voice: sampleUrl ?? name ?? languageName(language)?.toLowerCase(),
  custom_audio_language: sampleUrl && languageName(language)?.toLowerCase(),
  temperature,
});

const orpheus: FalSpeechWriter = ({ text, temperature }, { name }) => ({ text, voice: name, temperature });

const qwen3: FalSpeechWriter = ({ text, style, language, temperature, topP }, { name }) => ({
  text,
  voice: name,
  prompt: style,
  language: languageName(language),
  temperature,
  top_p: topP,
});

const gemini: FalSpeechWriter = ({ text, style, temperature, format }, { name }) => ({
  prompt: text,
  voice: name,
  style_instructions: style,
  temperature,
  output_format: format === 'opus' ? 'ogg_opus' : format,
});

const elevenLabs: FalSpeechWriter = ({ text, speed, language }, { name }) => ({
  text,
  voice: name,
  speed,
  language_code: language,
});

const xai: FalSpeechWriter = ({ text, language, format }, { name }) => ({
  text,
  voice: name,
  language,
  output_format: { codec: format, sample_rate: '24000' },
});

/** Requests PCM at 24,000 samples per second, as OpenAI delivers it. */
const minimax: FalSpeechWriter = ({ text, speed, language, format }, { name }) => ({
  text,
  voice_setting: { voice_id: name && spelled(name), speed: Math.min(2, Math.max(0.5, speed)) },
  audio_setting: { format, ...(format === 'pcm' && { sample_rate: '24000' }) },
  language_boost: languageName(language) ?? 'auto',
  output_format: 'url',
});

/** The catalogue's "WiseWoman" is "Wise_Woman" at MiniMax; names of cloned voices have digits. */
function spelled(voice: string): string {
  return /^[A-Za-z]+$/.test(voice) ? voice.replace(/(?<=[a-z])(?=[A-Z])/g, '_') : voice;
}

const MINIMAX: SpeechFamily = {
  write: minimax,
  cloning: {
    endpoint: 'fal-ai/minimax/voice-clone',
    input: (audio_url, endpoint) => ({ audio_url, model: clonedBy(endpoint) }),
  },
};

const CLONERS = ['speech-02-hd', 'speech-02-turbo', 'speech-01-hd', 'speech-01-turbo'];

function clonedBy(endpoint: string): string | undefined {
  return CLONERS.find((model) => endpoint.endsWith(`/${model}`));
}

const FAMILIES: Readonly<Record<string, SpeechFamily>> = {
  'fal-ai/chatterbox/text-to-speech': { write: chatterbox, cloning: 'sample' },
  'fal-ai/chatterbox/text-to-speech/multilingual': { write: chatterboxMultilingual, cloning: 'sample' },
  'fal-ai/elevenlabs/tts': { write: elevenLabs },
  'fal-ai/gemini-3.1-flash-tts': { write: gemini },
  'fal-ai/gemini-tts': { write: gemini },
  'fal-ai/kokoro': { write: kokoro },
  'fal-ai/minimax': MINIMAX,
  'fal-ai/orpheus-tts': { write: orpheus },
  'fal-ai/qwen-3-tts': { write: qwen3 },
  'resemble-ai/chatterboxhd/text-to-speech': { write: chatterboxHd, cloning: 'sample' },
  'xai/tts': { write: xai },
};

function familyOf(endpoint: string): SpeechFamily {
  return longestPrefixRow(FAMILIES, endpoint) ?? { write: plain };
}

export function cloningOf(endpoint: string): SpeechFamily['cloning'] {
  return familyOf(endpoint).cloning;
}

export function speechInput(order: SpeechOrder): Fields {
  const { voice } = order;
  const { write, cloning } = familyOf(order.upstreamModel);
  const isSample = cloning === 'sample' && voice !== undefined && /^https?:\/\//.test(voice);
  const input = write(order, isSample ? { sampleUrl: voice } : voice === undefined ? {} : { name: voice });
  return definedFields(input);
}
