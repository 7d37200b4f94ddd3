/** modelPrivacy over HTTP: three policies, and every way in which a request can select a model. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../api/http/answer.ts';
import { defineRoute } from '../../api/http/route.ts';
import { requireAttempts } from '../../api/models.ts';
import { MODEL_PRIVACIES, type ModelPrivacy } from '../../domain/caller.ts';
import { BUILT_IN_MODELS, createCatalogue } from '../../domain/catalogue/catalogue.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import { LOCAL_VOICE_CHANGER } from '../../domain/catalogue/voiceChangers.ts';
import type { Config } from '../../infra/config/config.ts';
import { findCharacter } from '../../infra/postgres/characters.ts';
import { ask } from './keys/keyClient.ts';
import { startApi, type TestApi } from './startApi.ts';

const PRIVACIES = ['private', 'anonymized'] as const;
const text = BUILT_IN_MODELS.find((model) => model.type === 'text' && model.provider === 'openai');
if (!text) throw new Error('no text model');

/**
 * `voice-…` and `spoken-…` can be called here. `text-…` cannot, which only keys that may call it learn.
 */
const MODELS = PRIVACIES.flatMap((privacy) => [
  ...family({ ...LOCAL_VOICE_CHANGER, id: `voice-${privacy}`, privacy }),
  ...family({ ...text, id: `text-${privacy}`, privacy }),
  { ...text, id: `spoken-${privacy}`, privacy, provider: 'simulator', upstreamModel: 'simulator-text' } satisfies Model,
]);

/** The model with other names, and a removed model of the other privacy that it replaces. */
function family(model: Model): Model[] {
  const { id } = model;
  const gone = { autoRemap: true, date: '2026-01-01', removesAt: '2026-02-01', replacementModelId: id };
  const privacy = model.privacy === 'private' ? 'anonymized' : 'private';
  return [
    { ...model, aliases: [`${id}-abroad`], listing: { traits: [`${id}-choice`] } },
    { ...model, id: `${id}-gone`, privacy, aliases: [], listing: { deprecation: gone } },
  ];
}

function config(loaded: Config): Config {
  const models = [...loaded.models, ...MODELS];
  const [pattern] = loaded.characters;
  if (!pattern) throw new Error('no character');
  const bound = PRIVACIES.flatMap((privacy) => [`spoken-${privacy}`, `text-${privacy}`]);
  const characters = bound.map((modelId, index) => ({
    ...{ ...pattern, id: `00000000-0000-8000-8000-00000000000${index}`, slug: `speaker-of-${modelId}`, modelId },
  }));
  return { ...loaded, models, modelCatalogue: createCatalogue(models), characters };
}

/** Replaces the routes with fallbacks and characters: returns the models that it would try. */
const tryRoute = defineRoute({
  method: 'POST',
  path: '/test/try',
  access: 'key',
  body: {
    json: {
      schema: z.strictObject({
        model: z.string(),
        type: z.enum(['text', 'music']),
        fallbacks: z
          .array(z.strictObject({ model: z.string() }))
          .max(10)
          .default([]),
        character_slug: z.string().optional(),
      }),
      maxBytes: 10_000,
    },
    needsModel: true,
  },
  async handler({ core: { config: loaded, sql, charactersLoaded } }, { body, caller }) {
    await charactersLoaded();
    const character = body.character_slug && (await findCharacter(sql, body.character_slug));
    const asked = {
      name: body.model,
      type: body.type,
      fallbacks: body.fallbacks.map(({ model }) => model),
      ...(character && { character }),
    };
    return json({ tried: requireAttempts(loaded, asked, caller).map(({ model }) => model.id) });
  },
});

let api: TestApi;
const keys: Record<string, string> = {};
beforeAll(async () => {
  api = await startApi({ routes: [tryRoute], config });
  for (const modelPrivacy of MODEL_PRIVACIES) {
    keys[modelPrivacy] = (await api.fundedKey('INFERENCE', { modelPrivacy })).secret;
  }
});
afterAll(() => api.stop());

async function send(policy: ModelPrivacy, path: string, body: object) {
  const reply = await ask<Record<string, unknown>>(api, `POST ${path}`, { key: keys[policy] ?? '', body });
  const words = String(reply.body.error);
  if (reply.status === 403) expect(words).toContain(`modelPrivacy setting (${policy})`);
  return { status: reply.status, words, tried: reply.body.tried };
}

/** Written by hand. PRIVATE_TEXT does not restrict voice changers, which are no text models. */
const FORBIDDEN: Record<ModelPrivacy, readonly string[]> = {
  ALL: [],
  PRIVATE_TEXT: ['text-anonymized', 'spoken-anonymized'],
  PRIVATE_ONLY: ['text-anonymized', 'spoken-anonymized', 'voice-anonymized'],
};

const NAMES = ['', '-abroad', '-choice', '-gone'];

describe.each(MODEL_PRIVACIES)('a key with %s', (policy) => {
  const isForbidden = (id: string) => FORBIDDEN[policy].includes(id);

  it('gets the same decision for every name of a voice model', async () => {
    for (const id of PRIVACIES.map((privacy) => `voice-${privacy}`)) {
      for (const suffix of NAMES) {
        // This order has no recording. Only a key that may call the model learns that.
        const { status, words } = await send(policy, '/audio/voice-changer/queue', { model: id + suffix });
        const expected = isForbidden(id) ? [403, expect.stringContaining(id)] : [400, 'Invalid request parameters'];
        expect([suffix, status, words]).toEqual([suffix, ...expected]);
      }
    }
  });

  it('reaches no model by the mapping that it could not call by its id', async () => {
    const listed = await ask<{ data: Record<string, string> }>(api, 'GET /models/compatibility_mapping?type=music', {
      key: keys[policy] ?? '',
    });
    const foreign = Object.entries(listed.body.data).filter(([, id]) => id.startsWith('voice-'));
    expect(foreign).toHaveLength(2);
    for (const [model, id] of foreign) {
      const { status } = await send(policy, '/audio/voice-changer/queue', { model });
      expect([model, status]).toEqual([model, isForbidden(id) ? 403 : 400]);
    }
  });

  it('reaches a text model under any of its names only where its policy allows it', async () => {
    for (const id of PRIVACIES.map((privacy) => `text-${privacy}`)) {
      for (const suffix of NAMES) {
        const { status, words } = await send(policy, '/test/try', { model: id + suffix, type: 'text' });
        expect([suffix, status]).toEqual([suffix, isForbidden(id) ? 403 : 503]);
        expect(words).toContain(id);
      }
    }
  });

  it('reaches a character only where it may call the model of that character', async () => {
    for (const privacy of PRIVACIES) {
      const id = `spoken-${privacy}`;
      const body = { model: 'text-private', type: 'text', character_slug: `speaker-of-${id}` };
      const { status, words, tried } = await send(policy, '/test/try', body);
      expect([id, status, tried]).toEqual(isForbidden(id) ? [id, 403, undefined] : [id, 200, [id]]);
      if (isForbidden(id)) expect(words).toContain(id);
    }
  });

  it('reaches the requested model by a character of an offline model only where it may call that one', async () => {
    for (const privacy of PRIVACIES) {
      const id = `spoken-${privacy}`;
      const body = { model: id, type: 'text', character_slug: 'speaker-of-text-private' };
      const { status, tried } = await send(policy, '/test/try', body);
      expect([id, status, tried]).toEqual(isForbidden(id) ? [id, 403, undefined] : [id, 200, [id]]);
    }
  });

  it('falls back to no model that it could not call itself', async () => {
    for (const suffix of NAMES) {
      const fallbacks = [{ model: `voice-anonymized${suffix}` }, { model: 'elevenlabs-voice-changer' }];
      const { status, tried } = await send(policy, '/test/try', {
        model: 'voice-private',
        type: 'music',
        fallbacks,
      });
      const second = isForbidden('voice-anonymized') ? [] : ['voice-anonymized'];
      expect([suffix, status, tried]).toEqual([suffix, 200, ['voice-private', ...second]]);
      const swapped = {
        model: `voice-anonymized${suffix}`,
        type: 'music',
        fallbacks: [{ model: 'voice-private' }],
      };
      expect((await send(policy, '/test/try', swapped)).status).toBe(isForbidden('voice-anonymized') ? 403 : 200);
    }
  });

  it('uses a fallback when the first model is offline', async () => {
    const body = {
      model: 'elevenlabs-voice-changer',
      type: 'music',
      fallbacks: [{ model: 'voice-private' }],
    };
    const { status, tried } = await send(policy, '/test/try', body);
    // The remote voice changer is anonymized.
    expect([status, tried]).toEqual(policy === 'PRIVATE_ONLY' ? [403, undefined] : [200, ['voice-private']]);
  });
});
