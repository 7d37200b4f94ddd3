/** Every route of the public API. */
import { billingBalance } from './billing/balance.ts';
import type { Route } from './route.ts';

export const ROUTES: readonly Route[] = [billingBalance];
