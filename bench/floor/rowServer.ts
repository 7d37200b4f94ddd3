/** Floor of the retrieve benchmark: a bare Koa route that reads one row by key and sends it as JSON. */
import { Router } from '@koa/router';
import { loadConfig } from '../../infra/config/config.ts';
import { readJob } from '../../infra/postgres/jobs.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { serveRoutes } from './serve.ts';

const config = loadConfig(PROVIDERS);
const pool = openPool({ databaseUrl: config.databaseUrl, applicationName: 'farebox-floor', max: 16 });
const router = new Router();
router.get('/row/:id', async (context) => {
  const job = await readJob(pool, context.params.id ?? '');
  context.body = { status: job?.state, average_execution_time: 3_000, execution_duration: job?.elapsedMs };
});
serveRoutes(router);
