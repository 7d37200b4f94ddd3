/** The floor of the RPC benchmark: a bare Koa route that passes request and answer through with undici, and bills nobody. */
import { Router } from '@koa/router';
import Koa from 'koa';
import { Agent, request } from 'undici';
import { processEnvironment, readEnvironment } from '../../infra/config/environment.ts';

const { HOST: host, PORT: port } = readEnvironment(processEnvironment());
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
const app = new Koa();
app.silent = true;
app.use(router.routes());
app.listen({ host, port, backlog: 4_096 }, () => console.log('floor ready'));
