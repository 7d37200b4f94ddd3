/**
 * Outcomes of a provider (FAULT-1): the client gets the documented answer, the ledger has the exact price or nothing,
 * the order was accepted at most once, and the bucket is empty. All rows run at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobState } from '../../domain/jobs.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { queueIdOf } from '../../infra/s3/objectKeys.ts';
import type { Callback } from '../../providers/shared/provider.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import type { FalStub, OrderStep, StubOrder } from '../stubs/fal/fal.ts';
import { newSigningKey } from '../stubs/fal/webhooks.ts';
import type { Reply } from './client.ts';
import { eventually } from './deployment.ts';
import { ELEVENLABS_ROWS } from './outcomes/elevenlabsRows.ts';
import { FAL_OUTPUTS } from './outcomes/falOutputs.ts';
import { FAL_QUESTIONS } from './outcomes/falQuestions.ts';
import { type FalPlan, fal, fields } from './outcomes/falService.ts';
import { FAL_SUBMISSIONS } from './outcomes/falSubmissions.ts';
import { type InTurn, inTurns } from './outcomes/inTurns.ts';
import { STORED } from './outcomes/media.ts';
import { type Job, type OutcomeWorld, openOutcomeWorld, PRICES, sha256 } from './outcomes/outcomeWorld.ts';
import { REPLICATE_ROWS } from './outcomes/replicateRows.ts';
import { always, type Ending, type OutcomeRow, type RowService } from './outcomes/row.ts';
import { POLL_LONGEST_MS } from './outcomes/timing.ts';

/** Rows whose ended jobs get another webhook call. */
const OVER = ['takes the order', 'ends with a failure of its model', 'works for ever'];

const ROWS = [...FAL_SUBMISSIONS, ...FAL_QUESTIONS, ...FAL_OUTPUTS, ...REPLICATE_ROWS, ...ELEVENLABS_ROWS]
  // Every second row that is not seldom. Long mode runs all.
  .filter(({ seldom, when }, index) => longRun(0, 1) === 1 || OVER.includes(when) || (!seldom && index % 2 === 0))
  .map((row, index) => ({ ...row, name: `outcome-${index}` }));

/** Orders of single tests, outside the table. */
const WORKING: OrderStep = { status: 'IN_PROGRESS' };
const working = (count: number): FalPlan => ({
  does(stub) {
    stub.steps = always(WORKING).slice(0, count);
  },
});
const FURTHER = [
  { ...fal('calls back', STORED, working(5)), name: 'calling' },
  { ...fal('is done after a new price', STORED, working(1_000)), name: 'repriced-done' },
  { ...fal('fails after a new price', STORED, working(1_000)), name: 'repriced-failed' },
];

/** The first row awaits the slowest of all. */
const ROW_LIMIT_MS = 120_000;

let world: OutcomeWorld;
let moneyBefore: bigint;
const services = new Map<string, RowService>();
const watched = new Map<string, Promise<Seen>>();

beforeAll(async () => {
  const all = [...ROWS, ...FURTHER];
  for (const row of all) services.set(row.name, await row.start());
  world = await openOutcomeWorld(all.map(({ name, kind }) => ({ name, kind, service: serviceOf(name) })));
  moneyBefore = await world.farebox.moneyOf(world.farebox.account);
  const inTurn = inTurns(CLIENTS);
  for (const row of ROWS) {
    const seen = watchJob(row, inTurn);
    seen.catch(() => undefined);
    watched.set(row.name, seen);
  }
});

afterAll(async () => {
  await world?.close();
  await Promise.all([...services.values()].map((service) => service.close()));
});

/** Number of concurrent API clients. */
const CLIENTS = 4;

interface Seen {
  job: Job;
  state: JobState;
  /** Answers of two retrieve requests. */
  answers: Reply[];
  booked: { charge: bigint; refund: bigint };
}

async function watchJob({ name, kind, prompt }: OutcomeRow & { name: string }, inTurn: InTurn): Promise<Seen> {
  const job = await inTurn(() => world.order({ id: name, kind }, prompt));
  const state = await world.untilOver(job);
  return await inTurn(async () => ({
    job,
    state,
    answers: [await world.retrieve(job), await world.retrieve(job)],
    booked: await world.booked(job),
  }));
}

function serviceOf(name: string): RowService {
  const service = services.get(name);
  if (!service) throw new Error(`no service for ${name}`);
  return service;
}

async function seenOf(name: string): Promise<Seen> {
  const seen = watched.get(name);
  if (!seen) throw new Error(`${name} was not ordered`);
  return await seen;
}

function expectAnswer({ status, headers, body, bytes }: Reply, end: Ending): void {
  if (end.state !== 'stored') {
    expect({ status, body }).toEqual({ status: end.status, body: end.body });
    return;
  }
  const got = { status, contentType: headers.get('content-type'), sha256: sha256(bytes) };
  expect(got).toEqual({ status: 200, contentType: end.contentType, sha256: sha256(end.bytes) });
}

describe('an order at a service', () => {
  it.each(ROWS)(
    'ends as documented: a service that $when ($service, $kind)',
    async ({ name, kind, end, accepted, mostAsked }: OutcomeRow & { name: string }) => {
      const { state, answers, booked } = await seenOf(name);
      expect(state).toBe(end.state);
      for (const answer of answers) expectAnswer(answer, end);
      const price = PRICES[kind];
      expect(booked).toEqual({ charge: -price, refund: end.state === 'stored' ? 0n : price });
      expect(serviceOf(name).accepted()).toBe(accepted);
      expect(serviceOf(name).asked()).toBeLessThanOrEqual(mostAsked);
    },
    ROW_LIMIT_MS,
  );
});

describe('the state after all orders', () => {
  const stored = ROWS.filter(({ end }) => end.state === 'stored');

  it('has a charge for each stored output and no other', async () => {
    const spent = stored.reduce((sum, { kind }) => sum + PRICES[kind], 0n);
    expect(await world.farebox.moneyOf(world.farebox.account)).toBe(moneyBefore - spent);
    expect(await checkLedger(world.farebox.pool)).toEqual([]);
  });

  it('has one object for each output and none for other jobs', async () => {
    const outputs = await Promise.all(stored.map(async ({ name }) => (await seenOf(name)).job.queueId));
    await eventuallyHolds(outputs.sort());
  });

  it('has no medium, file or open workflow after the client completed its jobs', async () => {
    const inTurn = inTurns(CLIENTS);
    await Promise.all(
      stored.map(async ({ name }) => {
        const { job } = await seenOf(name);
        await inTurn(() => world.complete(job));
      }),
    );
    await eventuallyHolds([]);
    const closed = async () => ((await world.farebox.openWorkflows()).length === 0 ? true : undefined);
    await eventually(closed).catch(() => undefined);
    expect(await world.farebox.openWorkflows()).toEqual([]);
    expect(world.farebox.temporaryFiles().filter((file) => file.includes('output'))).toEqual([]);
  });
});

/** Objects are removed shortly after the state of their job changes. */
async function eventuallyHolds(queueIds: string[]): Promise<void> {
  const held = async () => (await world.farebox.objects()).map((key) => queueIdOf(key)).sort();
  const wanted = JSON.stringify(queueIds);
  const settled = async () => (JSON.stringify(await held()) === wanted ? true : undefined);
  await eventually(settled).catch(() => undefined);
  expect(await held()).toEqual(queueIds);
}

function falOf(name: string): FalStub {
  const stub = serviceOf(name).fal;
  if (!stub) throw new Error(`${name} is no fal`);
  return stub;
}

function nameOf(when: string): string {
  const name = ROWS.find((each) => each.when === when && each.service === 'fal')?.name;
  if (!name) throw new Error(`no row "${when}"`);
  return name;
}

async function orderAt(stub: FalStub): Promise<StubOrder> {
  return await eventually(async () => stub.orders[0]);
}

/** Calls the webhook URL that the service got with its order. */
async function call(order: StubOrder, { headers, body }: Callback): Promise<number> {
  const { pathname } = new URL(order.webhook ?? '');
  const url = `${world.farebox.origin}${pathname}`;
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
  await response.arrayBuffer();
  return response.status;
}

const STALE_SECONDS = 3_600;
const TOO_LARGE = Buffer.alloc(1024 * 1024 + 1, 0x20);

/** Webhook calls with their response status. */
const CALLS: [string, number, (stub: FalStub, order: StubOrder) => Callback][] = [
  ['a genuine call', 200, (stub, order) => stub.callOf(order)],
  ['a call signed by somebody else', 404, (stub, order) => stub.callOf(order, { key: newSigningKey('x') })],
  [
    'a call of an hour ago',
    404,
    (stub, order) => stub.callOf(order, { timestamp: Math.floor(Date.now() / 1_000) - STALE_SECONDS }),
  ],
  [
    'a call whose body was changed',
    404,
    (stub, order) => ({ ...stub.callOf(order), body: Buffer.from('{"status":"OK"}') }),
  ],
  ['a call without a signature', 404, () => ({ headers: {}, body: Buffer.from('{}') })],
  ['a call that is too large', 413, (stub, order) => ({ ...stub.callOf(order), body: TOO_LARGE })],
];

describe('webhook calls for an ended job', () => {
  it.each(OVER)('change nothing: a service that %s', async (when) => {
    const name = nameOf(when);
    const { job, answers, booked, state } = await seenOf(name);
    const stub = falOf(name);
    const order = await orderAt(stub);
    // Makes a late job complete.
    order.steps = [];
    const asked = stub.calls.filter(({ path }) => path.includes('/requests/')).length;
    for (const [what, status, made] of CALLS) {
      expect(`${what}: ${await call(order, made(stub, order))}`).toBe(`${what}: ${status}`);
    }
    await sleep(POLL_LONGEST_MS);
    expect(stub.calls.filter(({ path }) => path.includes('/requests/'))).toHaveLength(asked);
    expect(await world.booked(job)).toEqual(booked);
    const again = await world.retrieve(job);
    if (state !== 'stored') expect(again.body).toEqual(answers[0]?.body);
    expect(again.status).toBe(state === 'stored' ? 404 : answers[0]?.status);
  });
});

describe('webhook calls for a running job', () => {
  it('end the job once with its polled result, however many there are', async () => {
    const job = await world.order({ id: 'calling', kind: 'audio' }, 'calm rain, far away');
    const stub = falOf('calling');
    const order = await orderAt(stub);
    const [genuine, ...others] = CALLS;
    for (const [what, status, made] of others) {
      expect(`${what}: ${await call(order, made(stub, order))}`).toBe(`${what}: ${status}`);
    }
    const heard = genuine?.[2](stub, order);
    const statuses = heard ? [await call(order, heard), await call(order, heard)] : [];
    expect(statuses).toEqual([200, 404]);
    expect(await world.untilOver(job)).toBe('stored');
    expectAnswer(await world.retrieve(job), STORED);
    expect(await world.booked(job)).toEqual({ charge: -PRICES.audio, refund: 0n });
    expect(stub.orders).toHaveLength(1);
    await world.complete(job);
  });
});

describe('a price change while a job runs', () => {
  it('leaves charge and refund at the price of the order', async () => {
    const names = ['repriced-done', 'repriced-failed'] as const;
    const jobs = await Promise.all(
      names.map((name) => world.order({ id: name, kind: 'audio' }, 'calm rain, far away')),
    );
    const orders = await Promise.all(names.map((name) => orderAt(falOf(name))));
    const dearer = world.configurationWith({ audio: 10n * PRICES.audio, video: PRICES.video });
    const [worker] = await Promise.all([world.farebox.anotherWorker(dearer), world.farebox.worker.stop()]);
    try {
      const [done, failing] = orders;
      if (failing) failing.result = { status: 500, body: fields('internal_server_error', 'Oh') };
      for (const order of [done, failing]) order?.steps.splice(0);
      const states = await Promise.all(jobs.map((job) => world.untilOver(job)));
      expect(states).toEqual(['stored', 'failed']);
      const booked = await Promise.all(jobs.map((job) => world.booked(job)));
      const charge = -PRICES.audio;
      expect(booked).toEqual([
        { charge, refund: 0n },
        { charge, refund: PRICES.audio },
      ]);
    } finally {
      await worker.stop();
    }
  });
});
