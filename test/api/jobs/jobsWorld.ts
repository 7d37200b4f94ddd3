/** Jobs written statement by statement like by the workers, and a client that reads their event streams. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { announceJob } from '../../../infra/postgres/jobChanges.ts';
import { recordEvents } from '../../../infra/postgres/jobEvents.ts';
import { insertJob, recordEnded, recordStored } from '../../../infra/postgres/jobs.ts';
import { charge, refund } from '../../../infra/postgres/ledger.ts';
import { inTransaction, type Sql } from '../../../infra/postgres/pool.ts';
import { openSubmission, recordOperation, recordProgress } from '../../../infra/postgres/submissions.ts';
import type { Payer } from '../billing/usageWorld.ts';
import { SOLD } from '../billing/usageWorld.ts';

export const PRICE = 50_000_000n;

export interface JobKindOf {
  kind?: string;
  modelId?: string;
}

/** Inserts a charged and accepted job and returns its queue_id. */
export async function acceptJob(
  sql: Sql,
  { accountId, keyId }: Pick<Payer, 'accountId'> & { keyId: string | null },
  { kind = 'voice-changer', modelId = 'quick' }: JobKindOf = {},
): Promise<string> {
  const queueId = randomUUID();
  await inTransaction(sql, async (client) => {
    const price = { usd: PRICE, diem: PRICE };
    const charged = await charge(client, { operationId: queueId, accountId, keyId, price, snapshot: SOLD });
    if (charged.outcome !== 'charged') throw new Error(charged.outcome);
    const { chargeId } = charged;
    const about = { queueId, accountId, keyId, kind, modelId, provider: 'simulated', requestId: 'r' };
    const terms = {
      durationSeconds: 2,
      priceUsdNano: PRICE,
      deadlineMs: 60_000,
      acceptBy: Date.now() + 60_000,
    };
    await insertJob(client, { ...about, ...terms, chargeId }, [
      { event: 'measured', detail: '2 s', at: new Date(Date.now() - 1_000).toISOString() },
      { event: 'charged', ledgerId: chargeId, detail: '0.05 usd' },
    ]);
  });
  return queueId;
}

export async function submitJob(sql: Sql, queueId: string): Promise<void> {
  await openSubmission(sql, queueId);
}

export async function acknowledgeJob(sql: Sql, queueId: string): Promise<void> {
  await recordOperation(sql, queueId, { id: 'theirs' });
  await recordEvents(sql, queueId, [{ event: 'acknowledged', detail: 'simulated' }]);
}

export { recordProgress as progressJob };

export async function storeJob(sql: Sql, queueId: string): Promise<void> {
  await recordStored(sql, queueId, {
    key: `media/${queueId}`,
    contentType: 'audio/mpeg',
    sizeBytes: 9,
    sha256: 'ab',
    seconds: 2,
    retentionMs: 3_600_000,
  });
}

export async function failJob(sql: Sql, queueId: string): Promise<void> {
  await inTransaction(sql, async (client) => {
    const undone = await refund(client, {
      operationId: queueId,
      chargeOperationId: queueId,
      reason: 'failed',
    });
    if (undone.outcome !== 'refunded') throw new Error(undone.outcome);
    const { refundId } = undone;
    const failure = { failureCode: 'provider_failed', failureMessage: 'It broke.' };
    await recordEnded(client, queueId, { state: 'failed', refundId, ...failure });
    await recordEvents(client, queueId, [
      { event: 'failed', detail: 'It broke.' },
      { event: 'refunded', ledgerId: refundId, detail: '0.05 usd' },
    ]);
  });
  await announceJob(sql, queueId);
}

export interface SeenEvent {
  id: number;
  event: string;
  data: Record<string, unknown>;
}

export interface EventStream {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Returns the text so far, with comments and `retry`. */
  text(): string;
  events(): SeenEvent[];
  /** Resolves when the connection is closed. */
  ended: Promise<void>;
  /** Closes the connection without notice. */
  cut(): void;
}

/** With `take: false` the bytes stay on the connection. */
export function openEvents(
  origin: string,
  { queueId, secret, ...more }: { queueId: string; secret: string; lastEventId?: string | number; take?: boolean },
): Promise<EventStream> {
  const headers: http.OutgoingHttpHeaders = { authorization: `Bearer ${secret}` };
  if (more.lastEventId !== undefined) headers['last-event-id'] = String(more.lastEventId);
  const url = `${origin}/api/v1/jobs/${queueId}/events`;
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false });
    request.once('error', reject);
    request.once('response', (response) => {
      let text = '';
      const ended = new Promise<void>((over) => response.once('close', over));
      response.on('error', () => undefined);
      if (more.take !== false) response.setEncoding('utf8').on('data', (part: string) => (text += part));
      resolve({
        ...{ status: response.statusCode ?? 0, headers: response.headers, ended },
        text: () => text,
        events: () => readEvents(text),
        cut: () => request.destroy(),
      });
    });
  });
}

/** Parses the format independently of its writer and ignores an unfinished event. */
function readEvents(text: string): SeenEvent[] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
    const data = fields.get('data');
    if (data === undefined) return [];
    return [{ id: Number(fields.get('id')), event: fields.get('event') ?? '', data: JSON.parse(data) }];
  });
}
