/** Dry run: the client wants to know the price, and nothing else happens. */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { nanoToNumber } from '../../domain/money.ts';
import { type Answer, json } from '../http/answer.ts';

/** Answer to a dry run of a call or job of one price. */
export const dryRunCost = z
  .strictObject({
    object: z.literal('dry_run'),
    cost: z.strictObject({ usd: z.number(), diem: z.number() }),
  })
  .meta({ id: 'DryRunCost' });

export function isDryRun({ headers }: { headers: IncomingHttpHeaders }): boolean {
  return headers['x-service-dry-run'] === 'true';
}

export function dryRun({ usd, diem }: LedgerPrice): Answer {
  return json({ object: 'dry_run', cost: { usd: nanoToNumber(usd), diem: nanoToNumber(diem) } });
}
