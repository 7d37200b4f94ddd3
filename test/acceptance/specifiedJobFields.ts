/** Field tables of jobs and their webhooks, for specifiedFields.ts. They extend the published API (API-17). */

export function under(place: string, table: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(table).map(([name, type]) => [`${place}.${name}`, type]));
}

export const AMOUNT = { currency: 'string', amount: 'number' };

export const DELIVERY = {
  id: 'string',
  object: 'string',
  event: 'string',
  url: 'string',
  state: 'string',
  created_at: 'string',
  next_attempt_at: 'string|null',
  attempts: 'array',
  'attempts[].attempt': 'number',
  'attempts[].at': 'string',
  'attempts[].status': 'number|null',
  'attempts[].error': 'string|null',
  'attempts[].duration_ms': 'number',
};

export const WEBHOOK_SECRET = {
  object: 'string',
  secret: 'string',
  created_at: 'string',
  previous_works_until: 'string|null',
};

export const JOB = {
  queue_id: 'string',
  object: 'string',
  kind: 'string',
  model: 'string',
  state: 'string',
  progress: 'number|null',
  duration_seconds: 'number|null',
  price_usd: 'number',
  charge_id: 'string',
  ...under('charged[]', AMOUNT),
  charged: 'array',
  credits_refunded: 'boolean',
  refund_id: 'string|null',
  ...under('refunded[]', AMOUNT),
  refunded: 'array',
  error: 'string|null',
  request_id: 'string',
  created_at: 'string',
  ended_at: 'string|null',
  execution_duration: 'number',
};
