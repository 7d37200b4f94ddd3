/**
 * Whatever a service does with an order (reliability C.5, Provider): the client reads the documented answer, the ledger has
 * the exact price or nothing, the order was taken in once at most, and nothing is left in the store. All rows run at once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobState } from '../../domain/jobs.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { queueIdOf } from '../../infra/s3/objectKeys.ts';
import type { Reply } from './client.ts';
import { eventually } from './deployment.ts';
import { ELEVENLABS_ROWS } from './outcomes/elevenlabsRows.ts';
import { FAL_OUTPUTS } from './outcomes/falOutputs.ts';
import { FAL_QUESTIONS } from './outcomes/falQuestions.ts';
import { FAL_SUBMISSIONS } from './outcomes/falSubmissions.ts';
import { type InTurn, inTurns } from './outcomes/inTurns.ts';
import { type Job, type OutcomeWorld, openOutcomeWorld, PRICES, sha256 } from './outcomes/outcomeWorld.ts';
import { REPLICATE_ROWS } from './outcomes/replicateRows.ts';
import type { Ending, OutcomeRow, RowService } from './outcomes/row.ts';

const ROWS = [
  ...FAL_SUBMISSIONS,
  ...FAL_QUESTIONS,
  ...FAL_OUTPUTS,
  ...REPLICATE_ROWS,
  ...ELEVENLABS_ROWS,
].map((row, index) => ({ ...row, name: `outcome-${index}` }));

/** The first that is looked at waits for the slowest of all. */
const ROW_LIMIT_MS = 120_000;

let world: OutcomeWorld;
let moneyBefore: bigint;
const services = new Map<string, RowService>();
const watched = new Map<string, Promise<Seen>>();

beforeAll(async () => {
  for (const row of ROWS) services.set(row.name, await row.start());
  world = await openOutcomeWorld(ROWS.map(({ name, kind }) => ({ name, kind, service: serviceOf(name) })));
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

/** The API is asked by so many clients at a time. */
const CLIENTS = 8;

interface Seen {
  job: Job;
  state: JobState;
  /** What the client read, asking twice. */
  answers: Reply[];
  booked: { charge: bigint; refund: bigint };
}

async function watchJob(
  { name, kind, prompt }: OutcomeRow & { name: string },
  inTurn: InTurn,
): Promise<Seen> {
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

describe('an order at a service that', () => {
  it.each(ROWS)(
    '$when ($service, $kind) ends as documented',
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

describe('when all of them are over', () => {
  const stored = ROWS.filter(({ end }) => end.state === 'stored');

  it('the client has paid for what was stored and for nothing else', async () => {
    const spent = stored.reduce((sum, { kind }) => sum + PRICES[kind], 0n);
    expect(await world.farebox.moneyOf(world.farebox.account)).toBe(moneyBefore - spent);
    expect(await checkLedger(world.farebox.pool)).toEqual([]);
  });

  it('the store has one object for each output and none for any other job', async () => {
    const outputs = await Promise.all(stored.map(async ({ name }) => (await seenOf(name)).job.queueId));
    await eventuallyHolds(outputs.sort());
  });

  it('no medium, no file and no open workflow is left once the client is done', async () => {
    const inTurn = inTurns(CLIENTS);
    await Promise.all(
      stored.map(async ({ name }) => {
        const { job } = await seenOf(name);
        await inTurn(() => world.complete(job));
      }),
    );
    await eventuallyHolds([]);
    const closed = async () => ((await world.farebox.openWorkflows()).length === 0 ? true : undefined);
    await eventually(closed, 10_000).catch(() => undefined);
    expect(await world.farebox.openWorkflows()).toEqual([]);
    expect(world.farebox.temporaryFiles().filter((file) => file.includes('output'))).toEqual([]);
  });
});

/** A removal follows the state of its job by a moment. */
async function eventuallyHolds(queueIds: string[]): Promise<void> {
  const held = async () => (await world.farebox.objects()).map((key) => queueIdOf(key)).sort();
  const wanted = JSON.stringify(queueIds);
  const settled = async () => (JSON.stringify(await held()) === wanted ? true : undefined);
  await eventually(settled, 10_000).catch(() => undefined);
  expect(await held()).toEqual(queueIds);
}
