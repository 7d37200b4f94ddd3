/** Signing secret of an account's webhooks, and for a day the previous one. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { type Actor, recordAct } from './audit.ts';
import { inTransaction, type SqlClient } from './pool.ts';

export interface WebhookSecret {
  /** Bytes; the client reads them as `whsec_` and base64. */
  secret: Buffer;
  createdAt: Date;
  /** Previous secret, which signs as well; null when its day is over. */
  previous: Buffer | null;
  previousUntil: Date | null;
}

const SECRET_BYTES = 32;
/** Time that receivers have to switch to a new secret. */
const OVERLAP_HOURS = 24;

const COLUMNS = `secret, created_at as "createdAt",
  case when previous_until > clock_timestamp() then previous end as previous,
  case when previous_until > clock_timestamp() then previous_until end as "previousUntil"`;

/** Creates the secret on first use: concurrent callers get the same. */
export async function webhookSecretOf(sql: SqlClient, accountId: string): Promise<WebhookSecret> {
  const found = await read(sql, accountId);
  if (found) return found;
  await sql.query(
    'insert into webhook_secrets (account_id, secret) values ($1, $2) on conflict (account_id) do nothing',
    [accountId, randomBytes(SECRET_BYTES)],
  );
  const made = await read(sql, accountId);
  if (!made) throw new Error('the webhook secret was made and is not there');
  return made;
}

/** Creates a new secret; the present one also signs for a day, an older one no longer. */
export async function rotateWebhookSecret(
  pool: pg.Pool,
  { accountId, actor }: { accountId: string; actor: Actor },
): Promise<WebhookSecret> {
  return await inTransaction(pool, async (client) => {
    // Acts of one account take effect in the order of their ids.
    await client.query('select from accounts where id = $1 for no key update', [accountId]);
    await webhookSecretOf(client, accountId);
    const { rows } = await client.query<WebhookSecret>(
      `update webhook_secrets set secret = $2, created_at = clock_timestamp(), previous = secret,
         previous_until = clock_timestamp() + $3 * interval '1 hour'
        where account_id = $1 returning ${COLUMNS}`,
      [accountId, randomBytes(SECRET_BYTES), OVERLAP_HOURS],
    );
    const [rotated] = rows;
    if (!rotated) throw new Error('the webhook secret is not there');
    const changes = { previousWorksUntil: rotated.previousUntil?.toISOString() ?? null };
    await recordAct(client, {
      ...{ accountId, actor, changes },
      action: 'webhook_secret.rotate',
      targetId: accountId,
    });
    return rotated;
  });
}

async function read(sql: SqlClient, accountId: string): Promise<WebhookSecret | undefined> {
  const { rows } = await sql.query<WebhookSecret>({
    name: 'webhook-secret',
    text: `select ${COLUMNS} from webhook_secrets where account_id = $1`,
    values: [accountId],
  });
  return rows[0];
}
