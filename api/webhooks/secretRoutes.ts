/** GET /webhooks/secret and POST /webhooks/secret/rotate: the signing secret of the account's webhooks. */
import { printSecret } from '../../infra/http/webhookSignature.ts';
import { rotateWebhookSecret, type WebhookSecret, webhookSecretOf } from '../../infra/postgres/webhookSecrets.ts';
import { actorOf } from '../http/actor.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { WEBHOOK_DESCRIPTIONS } from './openapi.ts';

export const webhookSecretRoute = defineRoute({
  method: 'GET',
  path: '/webhooks/secret',
  access: 'admin',
  describes: WEBHOOK_DESCRIPTIONS.secret,
  async handler({ core: { sql } }, { caller }) {
    return json(presentSecret(await webhookSecretOf(sql, caller.accountId)), UNCACHED);
  },
});

export const rotateWebhookSecretRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/secret/rotate',
  access: 'admin',
  describes: WEBHOOK_DESCRIPTIONS.rotate,
  async handler({ core: { sql } }, request) {
    const { accountId } = request.caller;
    const rotated = await rotateWebhookSecret(sql, { accountId, actor: actorOf(request) });
    return json(presentSecret(rotated), UNCACHED);
  },
});

const UNCACHED = { headers: { 'Cache-Control': 'no-store' } };

function presentSecret({ secret, createdAt, previousUntil }: WebhookSecret) {
  return {
    object: 'webhook_secret',
    secret: printSecret(secret),
    created_at: createdAt.toISOString(),
    previous_works_until: previousUntil?.toISOString() ?? null,
  };
}
