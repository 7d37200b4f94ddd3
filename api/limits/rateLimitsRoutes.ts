/** GET /api_keys/rate_limits and its log (ACCOUNT-15). */
import { keyScopeOf } from '../../domain/caller.ts';
import { canConsume } from '../../domain/ledger.ts';
import {
  callsInFlightOf,
  FETCHED_BYTES,
  type LimitOverride,
  MEDIA_BYTES_IN_MEMORY,
  perMinuteOf,
  requestsOf,
} from '../../domain/limits/limits.ts';
import { nanoToNumber } from '../../domain/money.ts';
import { slotsOfAccount } from '../../infra/accountShares.ts';
import { MAX_VOICES_PER_DAY } from '../../infra/postgres/clonedVoices.ts';
import { spendableOf } from '../../infra/postgres/spendable.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { LIMITS_DESCRIPTION, logDescription } from './openapi.ts';

export const rateLimitsRoute = defineRoute({
  method: 'GET',
  path: '/api_keys/rate_limits',
  access: 'key',
  describes: LIMITS_DESCRIPTION,
  async handler({ core: { sql, config }, limits: { calls: limits } }, { caller }) {
    const { accountId } = caller;
    const balance = await spendableOf(sql, { accountId, withinKey: keyScopeOf(caller) });
    const { rows } = await sql.query<{ next: Date }>(
      `select (date_trunc('day', ledger_now() at time zone 'UTC') + interval '1 day') at time zone 'UTC' as next`,
    );
    const tier = limits.tierOf(accountId);
    const override = limits.overrideOf(accountId);
    return json({
      data: {
        accessPermitted: balance !== undefined && canConsume(balance),
        apiTier: { id: tier, isCharged: true },
        balances: {
          USD: nanoToNumber(balance?.usd ?? 0n),
          DIEM: nanoToNumber(balance?.diem ?? 0n),
          BUNDLED_CREDITS: nanoToNumber(balance?.bundled ?? 0n),
        },
        keyExpiration: caller.keyExpiresAt?.toISOString() ?? null,
        nextEpochBegins: rows[0]?.next.toISOString(),
        rateLimits: config.models.map((model) => {
          const { requests, tokens } = perMinuteOf(model, tier, override);
          const rateLimits = [
            ...(requests === undefined ? [] : [{ amount: requests, type: 'RPM' }]),
            ...(tokens === undefined ? [] : [{ amount: tokens, type: 'TPM' }]),
          ];
          return { apiModelId: model.id, rateLimits };
        }),
        accountRateLimits: accountLimits(override),
      },
    });
  },
});

const SLOT_SCOPES = {
  decoders: 'recordings and videos decoded at a time',
  documents: 'documents read at a time',
  inspections: 'pictures inspected at a time',
  pages: 'pages fetched at a time',
  conversions: 'pages converted at a time',
  pictures: 'pictures made or changed at a time',
} as const;

/** Limits of the account beside those of models. */
function accountLimits(override: LimitOverride) {
  const { fetchedBytes = FETCHED_BYTES } = override;
  const perMinute = { type: 'RPM' } as const;
  return [
    { scope: 'routes without a model', amount: requestsOf('routes', override), ...perMinute },
    { scope: 'jobs', amount: requestsOf('jobs', override), ...perMinute },
    { scope: 'requests in flight', amount: callsInFlightOf(override, false), type: 'CALLS_IN_FLIGHT' },
    { scope: 'bytes of uploads and fetched media', amount: fetchedBytes, type: 'FETCHED_BYTES' },
    { scope: 'bytes of fetched media in memory', amount: MEDIA_BYTES_IN_MEMORY, type: 'FETCHED_BYTES' },
    ...slotsOfAccount(override).map(([kind, amount]) => {
      return { scope: SLOT_SCOPES[kind], amount, type: 'SLOTS' } as const;
    }),
    { scope: 'voices cloned', amount: MAX_VOICES_PER_DAY, type: 'RPD' },
  ];
}

/** Two paths for the same log (ACCOUNT-15). */
export const rateLimitLogRoutes = ['/api_keys/rate_limits/log', '/api_keys/rate_limit_logs'].map((path, index) =>
  defineRoute({
    method: 'GET',
    path,
    access: 'admin',
    describes: logDescription(index > 0),
    async handler({ limits: { calls: limits } }, { caller }) {
      const refusals = await limits.limiter.refusals(caller.accountId);
      const data = refusals.map(({ at, ...refusal }) => ({
        ...refusal,
        timestamp: new Date(at).toISOString(),
      }));
      return json({ object: 'list', data });
    },
  }),
);
