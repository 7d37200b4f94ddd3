/** POST /video/transcriptions, retired: answers 410 to every request (API-16). */
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { limitAddress } from '../http/limitRoute.ts';
import { defineRoute } from '../http/route.ts';

const PATH = '/video/transcriptions';

const BODY = {
  error:
    'POST /video/transcriptions was retired. Use POST /chat/completions with a model that takes video; GET /models lists ' +
    'them.',
};

const HEADERS = {
  Deprecation: 'true',
  Link: '</api/v1/chat/completions>; rel="successor-version", </api/v1/models>; rel="describedby"',
};

export const retiredTranscriptions = defineRoute({
  method: 'POST',
  path: PATH,
  access: 'open',
  readsKey: true,
  describes: {
    group: 'Video',
    operationId: 'retiredVideoTranscriptions',
    summary: 'Retired',
    description: 'Use `POST /chat/completions` with a model that takes video.',
    answers: {
      410: {
        means: 'Gone.',
        bodies: [{ schema: z.strictObject({ error: z.string() }) }],
        headers: { Deprecation: '`true`', Link: 'What takes its place.' },
      },
    },
    errors: ['rate_limited'],
    example: {},
  },
  async handler({ core: { config }, limits: { calls: limits } }, { address, caller }) {
    const perMinute = config.limits.perAddressPerMinute;
    if (!caller) await limitAddress(limits, address, { path: PATH, perMinute });
    return json(BODY, { status: 410, headers: HEADERS });
  },
});
