/** POST /audio/speech. */
import type { TextCall } from '../../../infra/http/textHttp.ts';
import type { SpeechOrder } from '../../shared/mediaProvider.ts';
import type { Dialect } from '../dialects.ts';

/** `instructions` does not work with them. */
const WITHOUT_INSTRUCTIONS = /^tts-1/;

export function speechCall(order: SpeechOrder, dialect: Dialect): Pick<TextCall, 'path' | 'json'> {
  const { upstreamModel, text, voice, format, speed, style } = order;
  const json = {
    model: upstreamModel,
    input: text,
    voice,
    response_format: format,
    ...(speed !== 1 && { speed }),
    ...(style !== undefined && !WITHOUT_INSTRUCTIONS.test(upstreamModel) && { instructions: style }),
    // OpenAI knows none of these: it hears the language from the text.
    ...(!dialect.openAiFields && {
      language: order.language,
      temperature: order.temperature,
      top_p: order.topP,
    }),
  };
  return { path: '/audio/speech', json };
}
