/** Description of the audit route with its answer. */
import { z } from 'zod';
import { AUDIT_ACTIONS } from '../../infra/postgres/audit.ts';
import { answersWith, isoTime, listOf, type RouteDescription } from '../http/describe.ts';

const act = z
  .strictObject({
    id: z.string(),
    createdAt: isoTime,
    actor: z.string().meta({ description: 'The id of an ADMIN key, the address of a wallet, or `operator`.' }),
    action: z.enum(AUDIT_ACTIONS),
    targetId: z.string(),
    requestId: z.string().nullable(),
    changes: z.record(z.string(), z.unknown()).meta({ description: 'What became different; never a secret.' }),
  })
  .meta({ id: 'AdministrativeAct' });

export const AUDIT_DESCRIPTION: RouteDescription = {
  group: 'Audit',
  operationId: 'listAudit',
  summary: 'Every administrative act, newest first',
  answers: answersWith(listOf(act).extend({ nextCursor: z.string().nullable() })),
  example: { query: { limit: '10' } },
};
