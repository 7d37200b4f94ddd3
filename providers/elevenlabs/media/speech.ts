/** POST /v1/text-to-speech/{voice_id}/stream. */
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { ServicePost } from '../../../infra/http/serviceHttp.ts';
import type { SpeechFormat, SpeechOrder } from '../../shared/mediaProvider.ts';
import { OUTPUT_FORMAT, pathVoice } from '../plannedCall.ts';

export interface SpeechCall {
  call: Pick<ServicePost, 'path' | 'query' | 'json'>;
  custom: boolean;
}

interface Output {
  format: string;
  /** False for WAV, which the streamed operation lacks. */
  streamed: boolean;
}

/** Samples have 16 bits at 24 kHz, as in OpenAI's `pcm`. */
const OUTPUTS: { readonly [Format in SpeechFormat]?: Output } = {
  mp3: { format: OUTPUT_FORMAT, streamed: true },
  opus: { format: 'opus_48000_64', streamed: true },
  pcm: { format: 'pcm_24000', streamed: true },
  wav: { format: 'wav_24000', streamed: false },
};

/** These models detect the language; the service refuses a language code for them. */
const HEARS_LANGUAGES = /^eleven_(multilingual|monolingual)/;

export function speechCall(order: SpeechOrder): SpeechCall {
  const { upstreamModel, text, speed } = order;
  const output = OUTPUTS[order.format];
  if (output === undefined) throw refused(`The model does not speak in ${order.format}.`);
  const voice = order.voice === undefined ? undefined : pathVoice(order.voice);
  if (order.voice === undefined) throw refused('The model needs a voice.');
  if (voice === undefined) throw refused('The voice id is malformed.');
  const named = order.language === undefined ? undefined : languageCode(order.language);
  const json = {
    text,
    model_id: upstreamModel,
    language_code: HEARS_LANGUAGES.test(upstreamModel) ? undefined : named,
    voice_settings: speed === 1 ? undefined : { speed },
  };
  const path = `/v1/text-to-speech/${encodeURIComponent(voice.id)}${output.streamed ? '/stream' : ''}`;
  return { call: { path, query: { output_format: output.format }, json }, custom: voice.custom };
}

function refused(message: string): UpstreamFailure {
  return new UpstreamFailure({
    reason: 'refused',
    detail: 'not sent: no such speech can be ordered',
    message,
  });
}

/** ISO 639-1 codes that the newest models of the service take. */
const CODES = (
  'af ar hy as az be bn bs bg ca ny hr cs da nl en et fi fr gl ka de el gu ha he hi hu is id ga it ja jv kn kk ko ky ' +
  'lv ln lt lb mk ms ml zh mr ne no nb ps fa pl pt pa ro ru sr sd sk sl so es sw sv ta te th tr uk ur vi cy'
).split(' ');

const NAMES = new Intl.DisplayNames('en', { type: 'language' });
const BY_NAME: ReadonlyMap<string, string> = new Map(
  CODES.map((code) => [(NAMES.of(code) ?? code).toLowerCase(), code] as const),
);

/** Takes a code or an English name. Undefined: unknown, and the service detects the language. */
function languageCode(said: string): string | undefined {
  const text = said.trim().toLowerCase();
  const code = text.split(/[-_]/)[0] ?? '';
  return CODES.includes(code) ? code : BY_NAME.get(text);
}
