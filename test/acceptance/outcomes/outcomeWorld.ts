/** Deployment with a provider and a model per row, and the client steps of a job. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { JobState } from '../../../domain/jobs.ts';
import type { Reply } from '../client.ts';
import { type Deployment, openDeployment } from '../deployment.ts';
import type { OrderKind, RowService } from './row.ts';
import { RECOMMENDED } from './row.ts';
import { DEADLINE_MS, POLL_FIRST_MS, POLL_LONGEST_MS } from './timing.ts';

/** Nano USD. Every model of a kind has the same price. */
export const PRICES: Record<OrderKind, bigint> = { audio: 70_000_000n, video: 110_000_000n };

interface RowModel {
  id: string;
  kind: OrderKind;
  /** Name of the provider in the configuration. */
  provider: string;
  upstreamModel: string;
}

export interface Job {
  queueId: string;
  model: string;
  kind: OrderKind;
}

export interface OutcomeWorld {
  farebox: Deployment;
  /** The same configuration with other prices. */
  configurationWith(prices: Record<OrderKind, bigint>): object;
  order(model: Pick<RowModel, 'id' | 'kind'>, prompt: string): Promise<Job>;
  /** Resolves when the job is stored or has ended. Rejects after the time limit. */
  untilOver(job: Job): Promise<JobState>;
  retrieve(job: Job): Promise<Reply>;
  complete(job: Job): Promise<Reply>;
  /** Ledger amounts of a job in nano units. Charges are negative. */
  booked(job: Job): Promise<{ charge: bigint; refund: bigint }>;
  close(): Promise<void>;
}

export async function openOutcomeWorld(
  services: readonly { name: string; kind: OrderKind; service: RowService }[],
): Promise<OutcomeWorld> {
  const models = services.map(({ name, kind, service }) => ({
    ...{ id: name, kind, provider: name },
    upstreamModel: service.upstreamModel,
  }));
  const entries = Object.fromEntries(services.map(({ name, service }) => [name, service.entry]));
  const configurationWith = (prices: Record<OrderKind, bigint>) => ({
    providers: { ...entries, elsewhere: { kind: 'simulator' } },
    models: [
      modelOf({ id: RECOMMENDED, kind: 'video', provider: 'elsewhere', upstreamModel: 'film' }, prices),
      ...models.map((model) => modelOf(model, prices)),
    ],
    fetch: { allowPrivateHosts: services.flatMap(({ service }) => service.allowedHost ?? []) },
    jobs: {
      deadlineMinutes: DEADLINE_MS / 60_000,
      pollFirstMs: POLL_FIRST_MS,
      pollLongestMs: POLL_LONGEST_MS,
    },
  });
  const variables = {
    OUTCOMES_FAL_KEY: 'stub-id:stub-secret',
    OUTCOMES_REPLICATE_KEY: 'r8_stub',
    OUTCOMES_ELEVENLABS_KEY: 'stub-key',
  };
  const farebox = await openDeployment({ configuration: configurationWith(PRICES), variables });
  const watch = watchStates(farebox.pool);
  const { api } = farebox.account;
  return {
    ...{ farebox, configurationWith },
    async order({ id, kind }, prompt) {
      const film = kind === 'video' ? { duration: '5s', resolution: '720p', aspect_ratio: '16:9' } : {};
      const headers = { 'idempotency-key': id };
      const ask = () => api.post(`/${kind}/queue`, { headers, json: { model: id, prompt, ...film } });
      let reply = await ask();
      // A busy machine may answer 503, after which the order is repeated.
      for (let again = 0; reply.status === 503 && again < 3; again += 1) reply = await ask();
      const { queue_id: queueId } = reply.body;
      if (reply.status === 200 && typeof queueId === 'string') return { queueId, model: id, kind };
      throw new Error(`${id} was not queued: ${reply.status} ${reply.bytes.toString('utf8').slice(0, 500)}`);
    },
    untilOver: ({ queueId }) => watch.untilOver(queueId),
    retrieve: ({ model, queueId, kind }) => api.post(`/${kind}/retrieve`, { json: { model, queue_id: queueId } }),
    complete: ({ model, queueId, kind }) => api.post(`/${kind}/complete`, { json: { model, queue_id: queueId } }),
    booked: ({ queueId }) => booked(farebox.pool, queueId),
    async close() {
      await watch.stop();
      await farebox.close();
    },
  };
}

/** The model as an operator configures it. */
function modelOf({ id, kind, provider, upstreamModel }: RowModel, prices: Record<OrderKind, bigint>): object {
  const amount = Number(prices[kind]) / 1e9;
  const price = { usd: amount, diem: amount };
  const common = { id, provider, upstreamModel, privacy: 'private' };
  if (kind === 'audio') {
    return { ...common, type: 'music', spec: { name: id, pricing: { generation: price } } };
  }
  const constraints = {
    model_type: 'text-to-video',
    durations: ['5s'],
    resolutions: ['720p'],
    aspect_ratios: ['16:9'],
  };
  return {
    ...common,
    type: 'video',
    price: { perGeneration: { any: price } },
    spec: { name: id, constraints },
  };
}

async function booked(pool: pg.Pool, queueId: string): Promise<{ charge: bigint; refund: bigint }> {
  const { rows } = await pool.query<{ kind: string; amount: string }>(
    'select kind, sum(amount)::text as amount from transfers where operation_id = $1 group by kind',
    [queueId],
  );
  const amounts = new Map(rows.map(({ kind, amount }) => [kind, BigInt(amount)]));
  const charge = amounts.get('charge') ?? 0n;
  const refund = amounts.get('refund') ?? 0n;
  amounts.delete('charge');
  amounts.delete('refund');
  if (amounts.size > 0) throw new Error(`also booked for ${queueId}: ${[...amounts.keys()]}`);
  return { charge, refund };
}

/** The slowest row ends at its deadline. The margin is for a busy machine. */
const OVER_LIMIT_MS = DEADLINE_MS + 60_000;

/** Polls all jobs with one query. A hundred separate pollers would distort the measurement. */
function watchStates(pool: pg.Pool) {
  const over = new Map<string, JobState>();
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const { rows } = await pool.query<{ queue_id: string; state: JobState }>(
        `select queue_id, state from jobs where state not in ('accepted', 'submitted')`,
      );
      for (const { queue_id, state } of rows) over.set(queue_id, state);
      await sleep(150);
    }
  })();
  watching.catch(() => undefined);
  return {
    async untilOver(queueId: string): Promise<JobState> {
      const deadline = Date.now() + OVER_LIMIT_MS;
      for (;;) {
        const state = over.get(queueId);
        if (state) return state;
        if (Date.now() > deadline) throw new Error(`job ${queueId} is still running`);
        await sleep(100);
      }
    },
    async stop() {
      stopped = true;
      await watching;
    },
  };
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
