/** Floor of the catalogue benchmark: a bare Koa route that sends the bytes of a file read at its start. */
import { readFileSync } from 'node:fs';
import { Router } from '@koa/router';
import { serveRoutes } from './serve.ts';

const bytes = readFileSync(process.env.BENCH_BYTES ?? '');
const router = new Router();
router.get('/bytes', (context) => {
  context.type = 'application/json';
  context.body = bytes;
});
serveRoutes(router);
