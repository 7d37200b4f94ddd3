/** The floor of the catalogue benchmark: a bare Koa route that sends the bytes of a file, which it has read before. */
import { readFileSync } from 'node:fs';
import { Router } from '@koa/router';
import Koa from 'koa';
import { processEnvironment, readEnvironment } from '../../infra/config/environment.ts';

const { HOST: host, PORT: port } = readEnvironment(processEnvironment());
const bytes = readFileSync(process.env.BENCH_BYTES ?? '');
const router = new Router();
router.get('/bytes', (context) => {
  context.type = 'application/json';
  context.body = bytes;
});
const app = new Koa();
app.use(router.routes());
app.listen(port, host, () => console.log('floor ready'));
