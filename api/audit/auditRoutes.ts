/** GET /audit, an addition to the published API (API-17): every administrative act on the account, newest first. */
import { z } from 'zod';
import { type AuditEvent, listActs } from '../../infra/postgres/audit.ts';
import { json } from '../http/answer.ts';
import { pageLimit, refuseCursor } from '../http/paging.ts';
import { defineRoute } from '../http/route.ts';
import { AUDIT_DESCRIPTION } from './openapi.ts';

const listQuery = z.strictObject({
  limit: pageLimit,
  cursor: z.string().max(64).optional(),
});

export const listAuditRoute = defineRoute({
  method: 'GET',
  path: '/audit',
  access: 'admin',
  query: listQuery,
  describes: AUDIT_DESCRIPTION,
  async handler({ core: { sql } }, { caller, query: { limit, cursor } }) {
    const before = cursor === undefined ? {} : { before: decodeActId(cursor) ?? refuseCursor() };
    const acts = await listActs(sql, { accountId: caller.accountId, limit: limit + 1, ...before });
    // A cursor of another account gets the same answer as an invalid one.
    if (!acts) return refuseCursor();
    const page = acts.slice(0, limit);
    const last = page.at(-1);
    const more = acts.length > limit && last !== undefined;
    return json({
      object: 'list',
      data: page.map(presentAct),
      nextCursor: more ? encodeActId(last.id) : null,
    });
  },
});

function presentAct(act: AuditEvent) {
  return {
    id: act.id,
    createdAt: act.createdAt.toISOString(),
    actor: act.actor,
    action: act.action,
    targetId: act.targetId,
    requestId: act.requestId,
    changes: act.changes,
  };
}

const MAX_ID = 2n ** 63n - 1n;

/** Cursor of the audit trail: the act after which it goes on. The database checks that the act is the caller's own. */
function encodeActId(id: string): string {
  return Buffer.from(id).toString('base64url');
}

/** Undefined for a text that `encodeActId` did not make. */
function decodeActId(cursor: string): string | undefined {
  const id = Buffer.from(cursor, 'base64url').toString('latin1');
  return /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= MAX_ID && encodeActId(id) === cursor ? id : undefined;
}
