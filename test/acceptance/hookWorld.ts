/** Deployment with webhooks to a test receiver, and the steps of a client that manages them. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { services } from '../harness/services.ts';
import type { Reply } from './client.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { type HookReceiver, openReceiver, type Received } from './hookReceiver.ts';
import { simulatedModels } from './models.ts';
import { queueFile, queueIdOf } from './orders.ts';
import { toneWav } from './recordings.ts';

/** Token in some URLs. It must occur only at the receiver. */
export const TOKEN = 'secret-in-the-hook';
export const short = toneWav(1);

interface HookOrder {
  model?: string;
  /** Path at the receiver. */
  hook: string;
  events?: string[];
}

export interface ShownDelivery {
  id: string;
  event: string;
  url: string;
  state: string;
  next_attempt_at: string | null;
  attempts: {
    attempt: number;
    at: string;
    status: number | null;
    error: string | null;
    duration_ms: number;
  }[];
}

export interface HookWorld {
  farebox: Deployment;
  receiver: HookReceiver;
  /** File that arms failpoints of all processes. */
  pointFile: string;
  /** Returns the queue_id. */
  order(order: HookOrder): Promise<string>;
  /** Messages at this path, once there are `count`. */
  arrivals(hook: string, count: number, timeoutMs?: number): Promise<Received[]>;
  deliveries(queueId: string): Promise<ShownDelivery[]>;
  /** First delivery of a job, once `count` attempts are recorded. */
  attempted(queueId: string, count: number, timeoutMs?: number): Promise<ShownDelivery>;
  resend(queueId: string, deliveryId: string): Promise<Reply>;
  secretBy(method: 'GET' | 'POST', route: string): Promise<string>;
  close(): Promise<void>;
}

export async function openHookWorld(): Promise<HookWorld> {
  const receiver = await openReceiver();
  const pointFile = path.join(services().folder, `${randomUUID()}.point`);
  writeFileSync(pointFile, '');
  const { provider, models } = simulatedModels({
    'quick-voice': {},
    'slow-voice': { latencyMs: 1_500 },
    'endless-voice': { outcome: 'hang', latencyMs: 600_000 },
    'failing-voice': { outcome: 'failed' },
  });
  const configuration = {
    providers: { simulated: provider },
    models,
    fetch: { allowPrivateHosts: [receiver.host] },
    jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
  };
  const farebox = await openDeployment({ configuration, variables: { FAREBOX_TEST_POINT: `@${pointFile}` } });
  return {
    ...{ farebox, receiver, pointFile },
    ...clientOf(farebox, receiver),
    async close() {
      await farebox.close();
      receiver.close();
    },
  };
}

type Client = Omit<HookWorld, 'farebox' | 'receiver' | 'pointFile' | 'close'>;

function clientOf({ account }: Deployment, receiver: HookReceiver): Client {
  const { api, adminKey } = account;
  const deliveries = async (queueId: string) =>
    (await api.get(`/jobs/${queueId}/deliveries`)).body.data as ShownDelivery[];
  return {
    deliveries,
    async order({ model = 'quick-voice', hook, events }) {
      const chosen = events && { webhook_events: events.join(',') };
      const fields = { webhook_url: receiver.url(hook), ...chosen };
      return queueIdOf(await queueFile(api, { model, source: short, fields }));
    },
    arrivals: (hook, count, timeoutMs = 90_000) =>
      eventually(async () => {
        const there = receiver.received.filter((each) => each.path === hook);
        return there.length >= count ? there : undefined;
      }, timeoutMs),
    attempted: (queueId, count, timeoutMs = 90_000) =>
      eventually(async () => {
        const [delivery] = await deliveries(queueId);
        return delivery && delivery.attempts.length >= count ? delivery : undefined;
      }, timeoutMs),
    resend: (queueId, deliveryId) => api.post(`/jobs/${queueId}/deliveries/${deliveryId}/resend`),
    async secretBy(method, route) {
      const reply = await (method === 'GET' ? api.get : api.post)(route, { key: adminKey });
      expect(reply.status).toBe(200);
      return String(reply.body.secret);
    },
  };
}

export function outcomesOf({ attempts }: ShownDelivery): [number | null, string | null][] {
  return attempts.map(({ status, error }) => [status, error]);
}
