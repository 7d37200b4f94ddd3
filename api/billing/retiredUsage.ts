/** GET /billing/usage, retired on 2026-09-16 (API-16): answers 410 to every request. */

import { json } from '../http/answer.ts';
import { limitAddress } from '../http/limitRoute.ts';
import { defineRoute } from '../http/route.ts';
import { BILLING_DESCRIPTIONS } from './openapi.ts';

/** 2026-07-09T00:00:00Z, the time of the announcement. */
const DEPRECATED_AT = 1_783_555_200;
const SUNSET = 'Wed, 16 Sep 2026 00:00:00 GMT';

const BODY = {
  error:
    'GET /billing/usage was retired on 2026-09-16. Use GET /billing/usage-history: pageSize, cursor, startTimestamp ' +
    'and endTimestamp replace limit, page, startDate and endDate.',
};

export const retiredUsage = defineRoute({
  method: 'GET',
  path: '/billing/usage',
  access: 'open',
  readsKey: true,
  describes: BILLING_DESCRIPTIONS.retired,
  async handler({ core: { config }, limits: { calls: limits } }, { address, caller }) {
    const perMinute = config.limits.perAddressPerMinute;
    if (!caller) await limitAddress(limits, address, { path: '/billing/usage', perMinute });
    const Link = [
      '</api/v1/billing/usage-history>; rel="successor-version"',
      `<${config.publicUrl}/docs>; rel="deprecation"; type="text/html"`,
    ].join(', ');
    return json(BODY, { status: 410, headers: { Deprecation: `@${DEPRECATED_AT}`, Sunset: SUNSET, Link } });
  },
});
