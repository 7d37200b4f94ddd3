import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { limitAddress } from '../../../api/http/limitRoute.ts';
import type { LimitSettings } from '../../../api/limits/callLimits.ts';
import { createLocalLimiter } from '../../../infra/redis/limiter.ts';

const limits = { limiter: createLocalLimiter() } as LimitSettings;

it.each([
  ['127.0.0.1', '::ffff:127.0.0.1', true],
  ['198.51.100.7', '198.51.100.8', false],
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['fe80::1%eth0', 'fe80::1%eth0', true],
  ['', '127.0.0.1', false],
])('%s and %s are the same caller: %s', async (one, other, same) => {
  const route = { path: randomUUID(), perMinute: 1 };
  await limitAddress(limits, one, route);
  const second = limitAddress(limits, other, route).then(
    () => 'admitted',
    (error: unknown) => (error as { code: string }).code,
  );
  expect(await second).toBe(same ? 'rate_limited' : 'admitted');
});
