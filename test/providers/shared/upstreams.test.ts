import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatEvent, Completion } from '../../../domain/text/chat.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import type { TextProvider } from '../../../providers/shared/textProvider.ts';
import { createUpstreams, type TextOutcome, type UpstreamsOptions } from '../../../providers/shared/upstreams.ts';
import { chatRequest, collect, context, failureOf } from '../chatRequest.ts';

type Answer = UpstreamFailureReason | 'ok' | UpstreamFailure | Error;

/** Replies with the next of its answers, then with `ok`. */
class Fake implements TextProvider {
  answers: Answer[] = [];
  always: Answer = 'ok';
  calls = 0;
  closed = false;

  async complete(): Promise<Completion> {
    this.calls += 1;
    const answer = this.answers.shift() ?? this.always;
    if (answer === 'ok') return { choices: [], usage: undefined };
    throw typeof answer === 'string' ? failure(answer) : answer;
  }

  async stream() {
    await this.complete();
    const answer = this.answers.shift() ?? 'ok';
    async function* events(): AsyncGenerator<ChatEvent[]> {
      yield [{ type: 'delta', index: 0, delta: { content: 'a' } }];
      if (answer !== 'ok') throw typeof answer === 'string' ? failure(answer) : answer;
    }
    return { events: events(), upstreamId: 'id' };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

function failure(reason: UpstreamFailureReason, retryAfterMs?: number, status = 500): UpstreamFailure {
  return new UpstreamFailure({
    reason,
    detail: 'x',
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

let clock: number;
let told: TextOutcome[];
beforeEach(() => {
  clock = 1_000;
  told = [];
});

function upstreams(fakes: readonly Fake[], change: Partial<UpstreamsOptions> = {}) {
  const addresses = fakes.map((provider, at) => ({ name: `a${at}`, provider, weight: 1 }));
  return createUpstreams({
    addresses,
    now: () => clock,
    // Always chooses the first ready address, and the middle of each pause.
    random: () => 0,
    observe: (outcome) => told.push(outcome),
    ...change,
  });
}

const fakes = (count: number) => Array.from({ length: count }, () => new Fake());
const ask = (provider: TextProvider, signal?: AbortSignal) =>
  provider.complete?.(chatRequest(), context(signal)) ?? Promise.reject(new Error('no complete'));
const open = (provider: TextProvider) =>
  provider.stream?.(chatRequest(), context()) ?? Promise.reject(new Error('no stream'));

describe('a retry at another address', () => {
  it.each<[UpstreamFailureReason, number]>([
    ['unreachable', 2],
    ['rate_limited', 2],
    ['overloaded', 2],
    ['failed', 2],
    ['credential', 2],
    ['no_model', 2],
    ['refused', 1],
    ['content_policy', 1],
    ['garbage', 1],
    ['timeout', 1],
    ['lost', 1],
  ])('follows %s: %d calls in all', async (reason, calls) => {
    for (const send of [ask, open]) {
      const [first, second] = [new Fake(), new Fake()];
      first.answers = [reason];
      const work = send(upstreams([first, second]));
      if (calls === 2) await work;
      else expect(await failureOf(work)).toMatchObject({ reason });
      expect(first.calls + second.calls).toBe(calls);
    }
  });

  it('does not follow a failure in the answer itself, when the work was done', async () => {
    const [first = new Fake(), second = new Fake()] = fakes(2);
    first.answers = [new UpstreamFailure({ reason: 'failed', detail: 'choice ended with an error', status: 200 })];
    expect(await failureOf(ask(upstreams([first, second])))).toMatchObject({ reason: 'failed' });
    expect(second.calls).toBe(0);
  });

  it('happens at most three times, once for each address, and the last failure is reported', async () => {
    const all = fakes(5);
    for (const [at, fake] of all.entries()) fake.always = at === 2 ? 'overloaded' : 'unreachable';
    expect(await failureOf(ask(upstreams(all)))).toMatchObject({ reason: 'overloaded' });
    expect(all.map(({ calls }) => calls)).toEqual([1, 1, 1, 0, 0]);
  });

  it('does not follow an abort of the caller', async () => {
    const all = fakes(2);
    const caller = new AbortController();
    all[0]?.answers.push('unreachable');
    caller.abort();
    expect(await failureOf(ask(upstreams(all), caller.signal))).toMatchObject({ reason: 'unreachable' });
    expect(all[1]?.calls).toBe(0);
  });

  it('does not follow once a stream has begun', async () => {
    const all = fakes(2);
    all[0]?.answers.push('ok', 'overloaded');
    const stream = await open(upstreams(all));
    expect(stream.upstreamId).toBe('id');
    expect(await collect(stream)).toMatchObject({ content: ['a'], failure: { reason: 'overloaded' } });
    expect(all[1]?.calls).toBe(0);
    expect(told).toMatchObject([{ call: 'stream', outcome: 'overloaded', address: 'a0' }]);
  });

  it('does not follow an error of our own, which is rethrown', async () => {
    const all = fakes(2);
    all[0]?.answers.push(new TypeError('ours'));
    await expect(ask(upstreams(all))).rejects.toThrow(TypeError);
    expect(told).toMatchObject([{ outcome: 'error' }]);
  });
});

describe('an address', () => {
  async function fail(provider: TextProvider, fake: Fake, { reason, times }: { reason: Answer; times: number }) {
    for (let at = 0; at < times; at += 1) {
      fake.answers = [reason];
      await failureOf(ask(provider));
    }
  }

  it.each<[UpstreamFailureReason, string]>([
    ['unreachable', 'open'],
    ['timeout', 'open'],
    ['failed', 'open'],
    ['overloaded', 'open'],
    ['lost', 'open'],
    ['credential', 'open'],
    ['garbage', 'closed'],
    ['refused', 'closed'],
    ['content_policy', 'closed'],
    ['no_model', 'closed'],
  ])('that answers %s five times is %s', async (reason, state) => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    await fail(provider, fake, { reason, times: 4 });
    expect(provider.health()).toEqual([{ name: 'a0', state: 'closed' }]);
    await fail(provider, fake, { reason, times: 1 });
    expect(provider.health()).toEqual([{ name: 'a0', state }]);
  });

  it('with successes between its failures stays closed', async () => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    for (let round = 0; round < 3; round += 1) {
      await fail(provider, fake, { reason: 'failed', times: 4 });
      await ask(provider);
    }
    expect(provider.health()[0]?.state).toBe('closed');
  });

  it('that is open gets no requests, and after a growing pause a single trial', async () => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    await fail(provider, fake, { reason: 'lost', times: 5 });
    for (const pause of [750, 1_500, 3_000]) {
      const { calls } = fake;
      expect(await failureOf(ask(provider))).toMatchObject({ reason: 'overloaded', retryAfterMs: pause });
      clock += pause - 1;
      await failureOf(ask(provider));
      expect(fake.calls).toBe(calls);
      clock += 1;
      expect(provider.health()[0]?.state).toBe('half-open');
      await fail(provider, fake, { reason: 'lost', times: 1 });
      expect(fake.calls).toBe(calls + 1);
    }
    clock += 60_000;
    await ask(provider);
    expect(provider.health()[0]?.state).toBe('closed');
  });

  it('that is half-open gets one request at a time', async () => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    await fail(provider, fake, { reason: 'lost', times: 5 });
    clock += 1_000;
    const { calls } = fake;
    const [first, second] = await Promise.allSettled([ask(provider), ask(provider)]);
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    expect(fake.calls).toBe(calls + 1);
  });

  it('that limits us pauses as long as it says, and the others are used', async () => {
    const all = fakes(2);
    all[0]?.answers.push(failure('rate_limited', 5_000, 429));
    const provider = upstreams(all);
    await ask(provider);
    expect(provider.health()[0]?.state).toBe('limited');
    await ask(provider);
    expect(all.map(({ calls }) => calls)).toEqual([1, 2]);
    clock += 5_000;
    await ask(provider);
    expect(all.map(({ calls }) => calls)).toEqual([2, 2]);
  });

  it('that is the only one and limits us is reported as a limit, with the rest of the pause', async () => {
    const fake = new Fake();
    fake.answers = [failure('rate_limited', 5_000, 429)];
    const provider = upstreams([fake]);
    expect(await failureOf(ask(provider))).toMatchObject({ reason: 'rate_limited', retryAfterMs: 5_000 });
    clock += 2_000;
    expect(await failureOf(ask(provider))).toMatchObject({ reason: 'rate_limited', retryAfterMs: 3_000 });
    expect(fake.calls).toBe(1);
  });

  it('whose streams break repeatedly opens, although each begins', async () => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    for (let at = 0; at < 5; at += 1) {
      fake.answers = ['ok', 'lost'];
      await collect(await open(provider));
    }
    expect(provider.health()[0]?.state).toBe('open');
  });

  it('is not blamed for clients that disconnect', async () => {
    const fake = new Fake();
    const provider = upstreams([fake]);
    for (let at = 0; at < 10; at += 1) {
      fake.answers = ['lost'];
      await failureOf(ask(provider, AbortSignal.abort()));
      for await (const _ of (await open(provider)).events) break;
    }
    expect(provider.health()[0]?.state).toBe('closed');
    expect(new Set(told.map(({ outcome }) => outcome))).toEqual(new Set(['stopped']));
  });
});

it('shares requests by weight', async () => {
  const all = fakes(3);
  const addresses = all.map((provider, at) => ({ name: `a${at}`, provider, weight: [1, 3, 6][at] ?? 0 }));
  let at = 0;
  const random = () => {
    at += 1;
    return (at % 1_000) / 1_000;
  };
  const provider = upstreams(all, { addresses, random });
  for (let each = 0; each < 1_000; each += 1) await ask(provider);
  expect(all.map(({ calls }) => Math.round(calls / 100))).toEqual([1, 3, 6]);
});

it('reports each attempt once, with its duration', async () => {
  const all = fakes(2);
  all[0]?.answers.push('overloaded');
  await ask(upstreams(all));
  expect(told).toEqual([
    { call: 'complete', outcome: 'overloaded', address: 'a0', durationMs: 0 },
    { call: 'complete', outcome: 'done', address: 'a1', durationMs: 0 },
  ]);
});

it('offers only what all addresses offer; closing closes all', async () => {
  const all = fakes(2);
  const provider = upstreams(all);
  expect(provider.embed).toBeUndefined();
  await provider.close();
  expect(all.every(({ closed }) => closed)).toBe(true);
});
