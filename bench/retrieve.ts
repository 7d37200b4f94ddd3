/** Retrieve of a running job, against a bare Koa route that reads one row by key. 32 connections, one run. */
import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { reachesBars } from './statistics.ts';
import { openWorld, query, type World } from './world.ts';

const CONNECTIONS = 32;
const MODEL = 'local-voice-changer';

/** Inserts a job that never ends. Only its row matters. */
export async function insertRunningJob(world: World, accountId: string): Promise<string> {
  const queueId = randomUUID();
  await query(
    world,
    `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, duration_seconds,
         price_usd_nano, charge_operation_id, charge_id, deadline_at)
       values ($1, $2, 'voice-changer', $3, 'local', 'submitted', 'bench', 2, 50000000, $1, 'bench',
         now() + interval '1 day')`,
    [queueId, accountId, MODEL],
  );
  return queueId;
}

export interface RetrieveTarget {
  url: string;
  method: 'POST';
  headers: Record<string, string>;
  body: string;
}

/** Request that a client repeats while it waits. */
export function retrieveRequest(origin: string, key: string, queueId: string): RetrieveTarget {
  return {
    url: `${origin}/api/v1/audio/voice-changer/retrieve`,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, queue_id: queueId }),
  };
}

export async function benchmarkRetrieve(options: { seconds?: number } = {}): Promise<{ ok: boolean }> {
  const duration = options.seconds ?? 6;
  const world = await openWorld({});
  try {
    const { accountId, inference } = await world.createPayer();
    const queueId = await insertRunningJob(world, accountId);
    const api = await world.start('api');
    const floorUrl = `${(await world.startFloor('rowServer')).origin}/row/${queueId}`;
    const product = retrieveRequest(api.origin, inference, queueId);
    const load = (target: { url: string }) => autocannon({ ...target, connections: CONNECTIONS, duration });
    await autocannon({ ...product, connections: CONNECTIONS, duration: 2 });
    await autocannon({ url: floorUrl, connections: CONNECTIONS, duration: 2 });
    const floor = await load({ url: floorUrl });
    const ours = await load(product);
    return reportFigures(floor, ours);
  } finally {
    await world.close();
  }
}

function reportFigures(floor: autocannon.Result, ours: autocannon.Result): { ok: boolean } {
  console.log(`retrieve while processing, ${CONNECTIONS} connections`);
  console.table(
    Object.entries({ floor, product: ours }).map(([side, result]) => ({
      side,
      'req/s': Math.round(result.requests.average),
      'p50 ms': result.latency.p50,
      'p99 ms': result.latency.p99,
      failed: result.non2xx + result.errors + result.timeouts,
    })),
  );
  const isReached = reachesBars([
    ['req/s ÷ floor', ours.requests.average / floor.requests.average, '≥', 0.2],
    ['p99 ÷ floor', ours.latency.p99 / Math.max(1, floor.latency.p99), '≤', 3],
  ]);
  return { ok: isReached && ours.non2xx === 0 && ours.errors === 0 };
}
