/** Floor of the RPC benchmark: a bare Koa route that passes request and answer through with undici, without billing. */
import { Router } from '@koa/router';
import { Agent, request } from 'undici';
import { serveRoutes } from './serve.ts';

const upstream = process.env.BENCH_UPSTREAM ?? '';
const dispatcher = new Agent({ connections: 1_024 });
const headers = { 'content-type': 'application/json' };
const router = new Router();
router.post('/api/v1/crypto/rpc/:network', async (context) => {
  const answer = await request(upstream, { method: 'POST', headers, body: context.req, dispatcher });
  context.status = answer.statusCode;
  context.type = 'application/json';
  context.length = Number(answer.headers['content-length']);
  context.body = answer.body;
});
serveRoutes(router);
