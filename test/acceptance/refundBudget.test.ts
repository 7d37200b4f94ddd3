/** Cancelled jobs that were submitted are refunded within the daily budget only. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { simulatedModels, voiceChanger } from './models.ts';
import { queueFile, queueIdOf, untilState } from './orders.ts';
import { toneWav } from './recordings.ts';

const PRICE = 50_000_000n;

let farebox: Deployment;

beforeAll(async () => {
  const simulated = simulatedModels({ 'endless-voice': { outcome: 'hang', latencyMs: 600_000 } });
  farebox = await openDeployment({
    configuration: {
      providers: {
        simulated: simulated.provider,
        narrow: { kind: 'simulator', outcome: 'hang', latencyMs: 600_000, limits: { concurrent: 1 } },
      },
      models: [...simulated.models, voiceChanger('narrow-voice', 'narrow')],
      jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
      limits: { refundedPerDay: 0.12 },
    },
  });
});
afterAll(async () => {
  expect(await checkLedger(farebox.pool)).toEqual([]);
  await farebox.close();
});

async function submitted(model: string, headers: Record<string, string> = {}): Promise<string> {
  const reply = await queueFile(farebox.account.api, { model, source: toneWav(1), call: { headers } });
  const queueId = queueIdOf(reply);
  await untilState(farebox.account.api, queueId, 'submitted');
  return queueId;
}

const cancel = (queueId: string) => farebox.account.api.post(`/jobs/${queueId}/cancel`);
const stateOf = async (queueId: string) => (await farebox.account.api.get(`/jobs/${queueId}`)).body.state;

it('cancels within the budget, answers 409 beyond it, and lets the job go on with its charge', async () => {
  const before = await farebox.moneyOf(farebox.account);
  const spent = async () => before - (await farebox.moneyOf(farebox.account));
  for (let count = 0; count < 2; count += 1) {
    const job = await submitted('endless-voice');
    expect((await cancel(job)).body).toMatchObject({ state: 'cancelled', credits_refunded: true });
  }
  expect(await spent()).toBe(0n);

  const third = await submitted('endless-voice');
  const refused = await cancel(third);
  expect(refused.status).toBe(409);
  expect(refused.body.error).toContain('0.12 USD per UTC day');
  expect(refused.body.error).toContain('goes on and its charge stands');
  expect([await stateOf(third), await spent()]).toEqual(['submitted', PRICE]);

  // A job without a refund continues beyond its own limit, too.
  const limited = await submitted('endless-voice', { 'cancel-after': '5s' });
  const events = async () => {
    const { events: all } = await farebox.temporal.workflow.getHandle(limited).fetchHistory();
    return all?.filter((event) => event.activityTaskCompletedEventAttributes).length ?? 0;
  };
  const measured = await events();
  await eventually(async () => ((await events()) > measured ? true : undefined));
  expect([await stateOf(limited), await spent()]).toEqual(['submitted', 2n * PRICE]);
});

it('cancels a job that was not submitted, whatever was refunded before', async () => {
  const { api } = farebox.account;
  await submitted('narrow-voice');
  const before = await farebox.moneyOf(farebox.account);
  const waiting = queueIdOf(await queueFile(api, { model: 'narrow-voice', source: toneWav(1) }));
  expect(await stateOf(waiting)).toBe('accepted');
  expect((await cancel(waiting)).body).toMatchObject({ state: 'cancelled', credits_refunded: true });
  expect(await farebox.moneyOf(farebox.account)).toBe(before);
});

it('gives another account its own budget', async () => {
  const reply = await queueFile(farebox.other.api, { model: 'endless-voice', source: toneWav(1) });
  const queueId = queueIdOf(reply);
  await untilState(farebox.other.api, queueId, 'submitted');
  const cancelled = await farebox.other.api.post(`/jobs/${queueId}/cancel`);
  expect(cancelled.body).toMatchObject({ state: 'cancelled', credits_refunded: true });
});
