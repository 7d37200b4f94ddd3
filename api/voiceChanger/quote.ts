/** POST /audio/voice-changer/quote: the price of a recording of this length, before anything is sent. */

import { nanoToNumber } from '../../domain/money.ts';
import { longestBillableSeconds, quoteVoiceChanger } from '../../domain/pricing.ts';
import { json } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute } from '../http/route.ts';
import { requireVoiceChanger } from '../models.ts';
import { SMALL_JSON_BYTES } from '../queue/jobBodies.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './openapi.ts';
import { quoteBody } from './schema.ts';

export const quoteRoute = defineRoute({
  method: 'POST',
  path: '/audio/voice-changer/quote',
  access: 'quote',
  body: { json: { schema: quoteBody, maxBytes: SMALL_JSON_BYTES }, needsModel: true, modelType: 'music' },
  describes: VOICE_CHANGER_DESCRIPTIONS.quote,
  async handler({ core: { config } }, { body }) {
    const { model, headers } = requireVoiceChanger(config, body.model);
    const price = quoteVoiceChanger(model, body.duration_seconds);
    if (!price) {
      const words = `Must be at most ${longestBillableSeconds(model)} for this model`;
      throw invalid('duration_seconds', words);
    }
    return json({ quote: nanoToNumber(price.usd), duration_seconds: body.duration_seconds }, { headers });
  },
});
