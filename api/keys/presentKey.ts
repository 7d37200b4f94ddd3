/** Published form of a key (ACCOUNT-3): never its secret, except once in a field of its own (ACCOUNT-4). */
import { formatNanoFixed, type Nano, nanoToNumber } from '../../domain/money.ts';
import type { KeyLimits, KeyRecord } from '../../infra/postgres/keys.ts';
import type { KeySpending, KeyWithUsage } from '../../infra/postgres/keyUsage.ts';

/** Times in ISO form or null; `models` only on a key that may not call all, `parentId` only on a child. */
export function presentKey(record: KeyRecord) {
  return {
    id: record.id,
    apiKeyType: record.keyType,
    description: record.description,
    consumptionLimits: presentLimits(record.limits),
    limitPeriod: record.limitPeriod,
    modelPrivacy: record.modelPrivacy,
    createdAt: record.createdAt.toISOString(),
    expiresAt: record.expiresAt?.toISOString() ?? null,
    lastUsedAt: record.lastUsedAt?.toISOString() ?? null,
    last6Chars: record.last6,
    ...presentScope(record),
  };
}

/** Amounts spent are strings of four decimals; those of the limit's period only where a limit counts them. */
export function presentKeyWithUsage(record: KeyWithUsage) {
  const { usd, diem } = presentSpent(record.sevenDays);
  const limited = record.limits.usd !== null || record.limits.diem !== null;
  return {
    ...presentKey(record),
    usage: { trailingSevenDays: { usd, vcu: '0.0000', diem } },
    ...(limited && { currentPeriodUsage: presentSpent(record.period) }),
  };
}

/** Answer to a creation: besides a rotation the only place that shows the secret. */
export function presentNewKey(record: KeyRecord, secret: string) {
  return {
    id: record.id,
    apiKey: secret,
    apiKeyType: record.keyType,
    description: record.description,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    consumptionLimit: presentLimits(record.limits),
    limitPeriod: record.limitPeriod,
    modelPrivacy: record.modelPrivacy,
    ...presentScope(record),
  };
}

function presentScope({ models, parentId }: KeyRecord): { models?: string[]; parentId?: string } {
  return { ...(models !== null && { models }), ...(parentId !== null && { parentId }) };
}

function presentLimits({ usd, diem, vcu }: KeyLimits) {
  const amount = (limit: Nano | null) => (limit === null ? null : nanoToNumber(limit));
  return { usd: amount(usd), diem: amount(diem), vcu: amount(vcu) };
}

function presentSpent({ usd, diem }: KeySpending) {
  return { usd: formatNanoFixed(usd, 4, 'half-up'), diem: formatNanoFixed(diem, 4, 'half-up') };
}
