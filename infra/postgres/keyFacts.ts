/** What the audit trail says of a key: the fields as the API names them, in JSON, without its secret. */
import { formatNano, type Nano } from '../../domain/money.ts';
import type { KeyRecord } from './keys.ts';

type Facts = Record<string, unknown>;

/** Amounts are exact decimal strings of whole units. */
function keyFacts(record: KeyRecord): Facts {
  const amount = (limit: Nano | null) => (limit === null ? null : formatNano(limit));
  const { usd, diem, vcu } = record.limits;
  return {
    description: record.description,
    'consumptionLimit.usd': amount(usd),
    'consumptionLimit.diem': amount(diem),
    'consumptionLimit.vcu': amount(vcu),
    limitPeriod: record.limitPeriod,
    modelPrivacy: record.modelPrivacy,
    expiresAt: record.expiresAt?.toISOString() ?? null,
  };
}

/** All that a key was made with. */
export function newKeyFacts(record: KeyRecord): Facts {
  const { keyType: apiKeyType, models, parentId } = record;
  return { apiKeyType, ...keyFacts(record), models, ...(parentId !== null && { parentId }) };
}

export type KeyChanges = Record<string, { from: unknown; to: unknown }>;

/** The fields that differ, each with both values. */
export function keyChanges(before: KeyRecord, after: KeyRecord): KeyChanges {
  const old = keyFacts(before);
  const changed = Object.entries(keyFacts(after)).filter(([field, value]) => value !== old[field]);
  return Object.fromEntries(changed.map(([field, to]) => [field, { from: old[field], to }]));
}
