/** POST /v1/text-to-speech/{voice_id}/stream. */
import { UpstreamFailure } from '../../../domain/text/upstreamFailure.ts';
import type { TextCall } from '../../../infra/http/textHttp.ts';
import type { SpeechFormat, SpeechOrder } from '../../shared/mediaProvider.ts';
import { OUTPUT_FORMAT, pathVoice } from '../plannedCall.ts';
import { languageCode } from './languages.ts';

export interface SpeechCall {
  call: Pick<TextCall, 'path' | 'query' | 'json'>;
  /** The client named a voice by an id of its own. */
  custom: boolean;
}

interface Output {
  format: string;
  /** The streamed operation has no WAV; the other one has. */
  streamed: boolean;
}

/** Samples are of 16 bits and at 24 kHz, as in OpenAI's `pcm`. */
const OUTPUTS: { readonly [Format in SpeechFormat]?: Output } = {
  mp3: { format: OUTPUT_FORMAT, streamed: true },
  opus: { format: 'opus_48000_64', streamed: true },
  pcm: { format: 'pcm_24000', streamed: true },
  wav: { format: 'wav_24000', streamed: false },
};

/** A language cannot be enforced there, and is refused. */
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
