/** Usage sums in the public form (ACCOUNT-14). Amounts are added as integers and become numbers at the end. */
import { nanoToNumber } from '../../domain/money.ts';
import type { KeyName, UsageAnalytics, UsageSums } from '../../infra/postgres/usageAnalytics.ts';
import type { DayRange } from './analyticsQuery.ts';
import { dayStartMs, parseDay } from './timestamps.ts';

/** Number of models and keys with daily figures. */
const MAX_NAMES = 10;

export interface AnalyticsContext {
  range: DayRange;
  keyNames: readonly KeyName[];
  modelTypeOf(modelId: string): string | null;
}

/**
 * `USD` and `totalUsd` count what was paid with usd and with bundled credit. Models are named by their ids. The daily
 * figures are units of the models and keys that cost most, by name.
 */
export function presentAnalytics(analytics: UsageAnalytics, context: AnalyticsContext) {
  const { range, keyNames } = context;
  const byDay = new Map(analytics.days.map((row) => [row.day, row]));
  const models = modelsOf(analytics);
  const keys = [...analytics.keys].sort(dearestFirst((row) => row.keyId ?? ''));
  const labels = labelsOf(
    keys.map((row) => row.keyId),
    keyNames,
  );
  const topModels = topNames(analytics.skus.map((row) => ({ name: row.model, sums: row })));
  const topKeys = keys.slice(0, MAX_NAMES).map((row) => labels.get(row.keyId) ?? '');
  return {
    lookback: range.lookback,
    byDate: range.days.map((date) => ({
      date,
      USD: nanoToNumber(byDay.get(date)?.usd ?? 0n),
      DIEM: nanoToNumber(byDay.get(date)?.diem ?? 0n),
    })),
    byModel: models.map(({ model, unit, rows }) => ({
      modelName: model,
      unitType: unit,
      modelType: context.modelTypeOf(model),
      ...totals(rows),
      breakdown: rows.map((row) => ({
        type: row.sku,
        usd: nanoToNumber(row.usd),
        diem: nanoToNumber(row.diem),
        units: Number(row.units),
      })),
    })),
    byModelDaily: daily(
      range,
      topModels,
      analytics.modelDays.map(({ model, ...row }) => ({ ...row, name: model })),
    ),
    topModels,
    byKey: keys.map((row) => ({
      apiKeyId: row.keyId,
      description: keyNames.find(({ id }) => id === row.keyId)?.description || (labels.get(row.keyId) ?? ''),
      ...totals([row]),
    })),
    byKeyDaily: daily(
      range,
      topKeys,
      analytics.keyDays.map(({ keyId, ...row }) => ({ ...row, name: labels.get(keyId) ?? '' })),
    ),
    topKeyNames: topKeys,
  };
}

type SkuRow = UsageAnalytics['skus'][number];

/** A model with prices in several units has an entry for each: their sum would be meaningless. */
function modelsOf(analytics: UsageAnalytics): { model: string; unit: string; rows: SkuRow[] }[] {
  const groups = new Map<string, { model: string; unit: string; rows: SkuRow[] }>();
  for (const row of [...analytics.skus].sort(dearestFirst((sku) => sku.sku))) {
    const name = JSON.stringify([row.model, row.unit]);
    const group = groups.get(name) ?? { model: row.model, unit: row.unit, rows: [] };
    group.rows.push(row);
    groups.set(name, group);
  }
  return [...groups.values()]
    .map((group) => ({ ...group, usd: sum(group.rows, 'usd'), diem: sum(group.rows, 'diem') }))
    .sort(dearestFirst((group) => `${group.model} ${group.unit}`));
}

function totals(rows: readonly UsageSums[]) {
  return {
    totalUsd: nanoToNumber(sum(rows, 'usd')),
    totalDiem: nanoToNumber(sum(rows, 'diem')),
    totalUnits: sumUnits(rows),
  };
}

function sum(rows: readonly UsageSums[], currency: 'usd' | 'diem'): bigint {
  return rows.reduce((total, row) => total + row[currency], 0n);
}

const UNIT_DECIMALS = 18;

/** Exact addition: ten times 0.1 is 1. */
function sumUnits(rows: readonly UsageSums[]): number {
  const scaled = rows.reduce((total, { units }) => {
    const [whole = '0', fraction = ''] = units.split('.');
    return total + BigInt(whole + fraction.padEnd(UNIT_DECIMALS, '0'));
  }, 0n);
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(UNIT_DECIMALS + 1, '0');
  const decimal = `${digits.slice(0, -UNIT_DECIMALS)}.${digits.slice(-UNIT_DECIMALS)}`;
  return Number(scaled < 0n ? `-${decimal}` : decimal);
}

function dearestFirst<Row extends { usd: bigint; diem: bigint }>(nameOf: (row: Row) => string) {
  return (a: Row, b: Row): number => {
    const difference = b.usd + b.diem - (a.usd + a.diem);
    if (difference !== 0n) return difference > 0n ? 1 : -1;
    return nameOf(a) < nameOf(b) ? -1 : 1;
  };
}

function topNames(rows: { name: string; sums: UsageSums }[]): string[] {
  const sums = new Map<string, { name: string; usd: bigint; diem: bigint }>();
  for (const row of rows) {
    const known = sums.get(row.name) ?? { name: row.name, usd: 0n, diem: 0n };
    sums.set(row.name, {
      name: row.name,
      usd: known.usd + row.sums.usd,
      diem: known.diem + row.sums.diem,
    });
  }
  return [...sums.values()]
    .sort(dearestFirst((entry) => entry.name))
    .slice(0, MAX_NAMES)
    .map((entry) => entry.name);
}

/** One object per day: `date` in milliseconds since 1970, and the units of each name. */
function daily(
  range: DayRange,
  names: readonly string[],
  rows: readonly (UsageSums & { day: string; name: string })[],
): Record<string, number>[] {
  const units = new Map<string, UsageSums[]>();
  for (const row of rows) {
    const place = `${row.day} ${row.name}`;
    units.set(place, [...(units.get(place) ?? []), row]);
  }
  return range.days.map((day) => {
    const figures = names.map((name): [string, number] => [name, sumUnits(units.get(`${day} ${name}`) ?? [])]);
    // Not by assignment: a key may be named `__proto__`.
    return Object.fromEntries([...figures, ['date', dayStartMs(parseDay(day) ?? 0)]]);
  });
}

/** A unique name for each key: keys may share a description, and `date` is reserved. */
function labelsOf(keyIds: readonly (string | null)[], known: readonly KeyName[]): Map<string | null, string> {
  const taken = new Set(['date']);
  const labels = new Map<string | null, string>();
  for (const keyId of keyIds) {
    const key = known.find(({ id }) => id === keyId);
    const plain = keyId === null ? 'No API key' : (key?.description ?? '');
    const candidates = [plain, `${plain} (…${key?.last6 ?? ''})`.trim(), `${plain} (${keyId})`];
    const label = candidates.find((name) => name !== '' && !taken.has(name)) ?? String(keyId);
    taken.add(label);
    labels.set(keyId, label);
  }
  return labels;
}
