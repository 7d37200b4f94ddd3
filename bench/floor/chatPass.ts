/**
 * Floor of the chat benchmark: a bare Koa route that passes request and answer through with undici, without billing.
 * With BENCH_BILLS it commits one row before the request and again after it. That is the least work of a durable bill,
 * without a check of payer and funds.
 */
import { randomUUID } from 'node:crypto';
import { Router } from '@koa/router';
import pg from 'pg';
import { Agent, request } from 'undici';
import { serveRoutes } from './serve.ts';

const upstream = `${process.env.BENCH_UPSTREAM}/v1/chat/completions`;
const dispatcher = new Agent({ connections: 1_024 });
const bills = process.env.BENCH_BILLS ? new pg.Pool({ connectionString: process.env.BENCH_BILLS }) : undefined;
await bills?.query('create table bench_bills (id uuid primary key, settled boolean not null)');
const HOLD = { name: 'hold', text: 'insert into bench_bills values ($1, false)' };
const SETTLE = { name: 'settle', text: 'update bench_bills set settled = true where id = $1' };
const router = new Router();
router.post('/api/v1/chat/completions', async (context) => {
  const headers = { 'content-type': 'application/json' };
  const values = bills ? [randomUUID()] : [];
  await bills?.query({ ...HOLD, values });
  const answer = await request(upstream, { method: 'POST', headers, body: context.req, dispatcher });
  context.status = answer.statusCode;
  context.type = String(answer.headers['content-type']);
  const length = answer.headers['content-length'];
  if (length !== undefined) context.length = Number(length);
  if (!bills) {
    context.body = answer.body;
    return;
  }
  const whole = Buffer.from(await answer.body.arrayBuffer());
  await bills.query({ ...SETTLE, values });
  context.body = whole;
});
serveRoutes(router);
