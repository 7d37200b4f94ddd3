/** Fixtures of the limit tests: models of every size and kind, and routes that end as the request says. */
import { z } from 'zod';
import { json } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { BUILT_IN_MODELS } from '../../../domain/catalogue/catalogue.ts';
import type { Model, ModelSize, ModelType } from '../../../domain/catalogue/model.ts';
import { FareboxError } from '../../../domain/errors.ts';

/** Returns a built-in model of the type under another id, without its aliases and traits. */
function other(id: string, type: ModelType): Model {
  const model = BUILT_IN_MODELS.find((entry) => entry.type === type);
  if (!model) throw new Error(`no model of type ${type}`);
  return { ...model, id, aliases: [`${id}-by-another-name`], listing: {} };
}
const text = (id: string, size: ModelSize) => ({ ...other(id, 'text'), size }) as Model;
export const MODELS = [
  ...[text('tiny', 'XS'), text('small', 'S'), text('middle', 'M'), text('large', 'L')],
  ...[other('vectors', 'embedding'), other('painter', 'image'), other('speaker', 'tts'), other('film', 'video')],
];

const body = z.strictObject({
  model: z.string(),
  tokens: z.number().optional(),
  used: z.number().optional(),
  end: z.enum(['ok', 'failed', 'unsupported', 'busy']).default('ok'),
});

export const call = (path: string, modelType?: ModelType) =>
  defineRoute({
    method: 'POST',
    path,
    access: 'key',
    body: { json: { schema: body, maxBytes: 10_000 }, needsModel: true, ...(modelType && { modelType }) },
    estimateTokens: async ({ tokens }) => tokens ?? 1,
    async handler(_dependencies, request) {
      const { end, used } = request.body;
      if (used !== undefined) await request.noteTokens(used);
      if (end === 'failed') throw new FareboxError({ code: 'model_offline', message: 'not now' });
      if (end === 'busy') throw new FareboxError({ code: 'rate_limited', message: 'the provider is busy' });
      if (end === 'unsupported') throw new FareboxError({ code: 'unsupported_feature', message: 'no vision' });
      return json({ ok: true });
    },
  });
