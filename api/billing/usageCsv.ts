/** Usage history as text/csv (ACCOUNT-13, RFC 4180): a header line, then whole entries. */
import { Readable } from 'node:stream';
import type pg from 'pg';
import { USAGE_CSV_HEADER, usageLines } from '../../infra/postgres/usageCsv.ts';
import { type UsagePlace, usagePage } from '../../infra/postgres/usageHistory.ts';
import { type Answer, stream } from '../http/answer.ts';
import { encodeUsageCursor, type UsageCursor } from './usageCursor.ts';

interface CsvRequest {
  walk: UsageCursor;
  headers: Record<string, string>;
}

const CONTENT_TYPE = 'text/csv; charset=utf-8';
const FIRST_LINE = `${USAGE_CSV_HEADER}\r\n`;
/** Lines of one batch of a stream: some hundred kilobytes, one statement of some milliseconds. */
const BATCH = 2_000;

/** One page; `x-next-cursor` is the next cursor, absent on the last page. */
export async function csvPage(sql: pg.Pool, key: Buffer, { walk, headers }: CsvRequest): Promise<Answer> {
  const { range, pageSize } = walk;
  const lines = await usageLines(sql, range, { ...walk, limit: pageSize });
  const { last } = lines;
  const more = last !== null && lines.count === pageSize && (await isMore(sql, walk, last));
  return stream(
    { stream: Readable.from([FIRST_LINE + lines.text]), contentType: CONTENT_TYPE },
    {
      headers: {
        ...headers,
        ...attachment(),
        ...(more && { 'x-next-cursor': encodeUsageCursor(key, { ...walk, after: last }) }),
      },
    },
  );
}

/**
 * The whole range. Each batch is a statement of its own, read while the client receives the one before: at most these
 * two are in memory, no transaction stays open for a slow client, and no statement follows when the client has gone.
 */
export function csvStream(sql: pg.Pool, { walk, headers }: CsvRequest): Answer {
  return stream(
    { stream: Readable.from(batches(sql, walk)), contentType: CONTENT_TYPE },
    { headers: { ...headers, ...attachment() } },
  );
}

async function* batches(sql: pg.Pool, walk: UsageCursor): AsyncGenerator<string, void> {
  const read = (after: UsagePlace | null) => {
    const lines = usageLines(sql, walk.range, { horizon: walk.horizon, after, limit: BATCH });
    // Its error is thrown where it is awaited, which does not happen when the client has gone.
    lines.catch(() => undefined);
    return lines;
  };
  let lines = await read(walk.after);
  let text = FIRST_LINE + lines.text;
  while (lines.count === BATCH) {
    const next = read(lines.last);
    yield text;
    lines = await next;
    text = lines.text;
  }
  if (text !== '') yield text;
}

async function isMore(sql: pg.Pool, { range, horizon }: UsageCursor, after: UsagePlace): Promise<boolean> {
  return (await usagePage(sql, range, { horizon, after, limit: 1 })).length > 0;
}

function attachment(): Record<string, string> {
  const now = new Date().toISOString().replace(/[-:.]/g, '');
  return { 'Content-Disposition': `attachment; filename=billing-usage-history-${now}.csv` };
}
