/** The floor of the chat benchmark: a bare Koa route that passes request and answer through with undici, and bills nobody. */
import { Router } from '@koa/router';
import Koa from 'koa';
import { Agent, request } from 'undici';
import { loadConfig } from '../../infra/config/config.ts';

const { host, port } = loadConfig();
const upstream = `${process.env.BENCH_UPSTREAM}/v1/chat/completions`;
const dispatcher = new Agent({ connections: 1_024 });
const router = new Router();
router.post('/api/v1/chat/completions', async (context) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await request(upstream, { method: 'POST', headers, body: context.req, dispatcher });
  context.status = answer.statusCode;
  context.type = String(answer.headers['content-type']);
  const length = answer.headers['content-length'];
  if (length !== undefined) context.length = Number(length);
  context.body = answer.body;
});
const app = new Koa();
app.silent = true;
app.use(router.routes());
app.listen({ host, port, backlog: 4_096 }, () => console.log('floor ready'));
