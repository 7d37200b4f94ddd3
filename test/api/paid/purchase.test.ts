/** Paid requests: charged at the moment of their settlement policy, not before, and released at every other end. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, binary, events, json, stream } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import type { LedgerHold } from '../../../api/paid/ledgerHold.ts';
import { purchase, purchaseAnswer, settleAfterStream } from '../../../api/paid/purchase.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { type HeldTimers, holdTimers } from '../../harness/heldTimers.ts';
import { until } from '../../harness/until.ts';
import { startApi, type TestApi } from '../startApi.ts';

const PRICE = { usd: 5_000_000n, diem: 5_000_000n };
const PIECE = Buffer.alloc(64 * 1024, 1);
const PIECES = 200;
/** No other timer has this length. */
const DEADLINE_MS = 3_001;

/** The provider of the sold work. */
let provider = 'test';

/** Set by each test: does the work and returns its answer. */
let work: () => Promise<Answer>;

const sold = defineRoute({
  method: 'POST',
  path: '/test/sold',
  access: 'key',
  deadlineMs: DEADLINE_MS,
  handler: async (dependencies, request) => {
    const purchase = { price: PRICE, snapshot: snapshotOf(request.requestId), ttlMs: 60_000 };
    return await purchaseAnswer(dependencies, request, { purchase, settles: 'at its first byte', work });
  },
});

/** Set by each test of work that does not settle its hold. */
let leaveOpen: (hold: LedgerHold) => Promise<Answer>;

const open = defineRoute({
  method: 'POST',
  path: '/test/open',
  access: 'key',
  handler: async (dependencies, request) => {
    const { requestId: operationId } = request;
    const terms = { operationId, bound: PRICE, snapshot: snapshotOf(operationId), ttlMs: 60_000 };
    return await purchase(dependencies, request, { ...terms, work: leaveOpen });
  },
});

function snapshotOf(requestId: string) {
  return {
    ...{ sku: 'test-sold', modelId: 'test', provider, unit: 'file', units: '1' },
    ...{ pricePerUnitUsd: '5000000', requestId },
  };
}

let deadlines: HeldTimers;
let api: TestApi;
let key: string;
let accountId: string;

beforeAll(async () => {
  deadlines = holdTimers(DEADLINE_MS);
  api = await startApi({ routes: [sold, open] });
  ({ secret: key, accountId } = await api.newKey('INFERENCE'));
  const amount = 10n ** 9n;
  const { sql } = api.opened.dependencies.core;
  await grant(sql, { operationId: randomUUID(), accountId, currency: 'usd', amount, notes: 'test' });
});
afterAll(async () => {
  deadlines.release();
  await api.stop();
});

async function rowsOf(table: 'usage_entries' | 'holds'): Promise<number> {
  const { sql } = api.opened.dependencies.core;
  const { rows } = await sql.query(`select count(*)::int as n from ${table} where account_id = $1`, [accountId]);
  return rows[0].n;
}

/** Returns the number of new entries once nothing is held any more. */
async function chargesOf(act: () => Promise<unknown>): Promise<number> {
  const before = await rowsOf('usage_entries');
  await act();
  await until('nothing is held', async () => (await rowsOf('holds')) === 0);
  return (await rowsOf('usage_entries')) - before;
}

/** `failsAt` is the piece at which the source breaks. */
function pieces(failsAt = Number.POSITIVE_INFINITY): Readable {
  let next = 0;
  return new Readable({
    read() {
      next += 1;
      if (next === failsAt) this.destroy(new Error('the source broke'));
      else this.push(next > PIECES ? null : PIECE);
    },
  });
}

const KINDS = {
  binary: (source: Readable) => binary({ stream: source, contentType: 'image/png', sizeBytes: PIECES * PIECE.length }),
  stream: (source: Readable) => stream({ stream: source, contentType: 'audio/mpeg' }),
};

const call = () => api.call('/test/sold', { method: 'POST', key });

let leave: () => void;
let left: Promise<void>;

/** Disconnects the client during the work, and resolves when the server notices. */
async function untilLeft(): Promise<void> {
  leave();
  await left;
}

/** Resolves when the server sees the connection of the next call closed. Other connections do not count. */
function closeOfNextCall(): Promise<void> {
  return new Promise((resolve) => {
    const onRequest = ({ url, socket }: http.IncomingMessage) => {
      if (url !== '/api/v1/test/sold') return;
      api.server.off('request', onRequest);
      socket.once('close', () => resolve());
    };
    api.server.on('request', onRequest);
  });
}

/** A client that disconnects before the response head or after its first bytes. */
function leaving(when: 'before the head' | 'after the first bytes'): Promise<void> {
  left = closeOfNextCall();
  return new Promise((resolve) => {
    const request = http.request(`${api.baseUrl}/test/sold`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${key}` }, agent: false },
    });
    request.on('error', () => resolve());
    request.on('response', (response) => {
      response.once('data', () => {
        response.destroy();
        resolve();
      });
    });
    request.end();
    if (when === 'before the head') leave = () => request.destroy();
  });
}

describe.each(Object.entries(KINDS))('a %s answer', (_kind, toAnswer) => {
  it('is charged once when it is delivered', async () => {
    work = async () => toAnswer(pieces());
    const charges = await chargesOf(async () => {
      const response = await call();
      expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, PIECES * PIECE.length]);
    });
    expect(charges).toBe(1);
  });

  it('is charged before its first byte arrives', async () => {
    work = async () => toAnswer(pieces());
    const before = await rowsOf('usage_entries');
    const response = await call();
    const reader = response.body?.getReader();
    await reader?.read();
    expect([(await rowsOf('usage_entries')) - before, await rowsOf('holds')]).toEqual([1, 0]);
    await reader?.cancel();
  });

  it('costs nothing when the client went away while it was made', async () => {
    work = async () => {
      await untilLeft();
      return toAnswer(pieces());
    };
    expect(await chargesOf(() => leaving('before the head'))).toBe(0);
  });

  it('is charged when the client disconnects midway', async () => {
    work = async () => toAnswer(pieces());
    expect(await chargesOf(() => leaving('after the first bytes'))).toBe(1);
  });

  it('costs nothing and is an error when its source breaks before the first byte', async () => {
    work = async () => toAnswer(pieces(1));
    const charges = await chargesOf(async () => expect((await call()).status).toBe(503));
    expect(charges).toBe(0);
  });

  it('costs nothing when its head cannot be written', async () => {
    const source = pieces();
    work = async () => ({ ...toAnswer(source), headers: { 'x-service-model-name': '模型' } });
    const charges = await chargesOf(async () => expect((await call()).status).toBe(500));
    expect([charges, source.destroyed]).toEqual([0, true]);
  });

  it('costs nothing after the deadline', async () => {
    let finish: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      finish = resolve;
    });
    work = async () => {
      deadlines.fire();
      await answered;
      return toAnswer(pieces());
    };
    const charges = await chargesOf(async () => {
      expect((await call()).status).toBe(504);
      finish();
    });
    expect(charges).toBe(0);
  });
});

describe('a JSON answer', () => {
  it('is charged before it is sent', async () => {
    work = async () => json({ text: 'all aboard' });
    expect(await chargesOf(async () => expect(await (await call()).json()).toEqual({ text: 'all aboard' }))).toBe(1);
  });

  it('costs nothing when the client went away while it was made', async () => {
    work = async () => {
      await untilLeft();
      return json({});
    };
    expect(await chargesOf(() => leaving('before the head'))).toBe(0);
  });
});

describe('a client that leaves before its answer begins, again and again', () => {
  const slow = async () => {
    await untilLeft();
    return json({});
  };
  /** Uses a new account with a refund budget of two of these a day. */
  async function chargesOfLeaving(times: number): Promise<number> {
    const poor = await api.newKey('INFERENCE');
    const { config, sql } = api.opened.dependencies.core;
    config.limits.overrides[poor.accountId] = { refundedPerDay: 0.01 };
    const operationId = randomUUID();
    const amount = 10n ** 9n;
    await grant(sql, { operationId, accountId: poor.accountId, currency: 'usd', amount, notes: 'test' });
    [key, accountId] = [poor.secret, poor.accountId];
    return await chargesOf(async () => {
      for (let count = 0; count < times; count += 1) {
        await leaving('before the head');
        await until('the call is over', async () => api.inFlight.count === 0);
      }
    });
  }

  it.each([
    ['a JSON answer', slow],
    ['a binary answer', async () => (await slow()) && KINDS.binary(pieces())],
    ['a stream', async () => (await slow()) && KINDS.stream(pieces())],
    [
      'a call that is given up',
      async () => {
        await slow();
        throw new UpstreamFailure({ reason: 'lost', detail: 'given up' });
      },
    ],
  ])('is billed beyond the refund budget for %s', async (_what, made) => {
    work = made;
    expect(await chargesOfLeaving(5)).toBe(3);
  });

  it('is not billed when the service reports a failure or the work is local', async () => {
    work = async () => {
      await slow();
      throw new UpstreamFailure({ reason: 'failed', detail: 'no' });
    };
    expect(await chargesOfLeaving(4)).toBe(0);
    provider = 'local';
    work = slow;
    expect(await chargesOfLeaving(4)).toBe(0);
    provider = 'test';
  });
});

it('charges nothing for work that fails, whatever it throws', async () => {
  const failures = [new UpstreamFailure({ reason: 'content_policy', detail: 'no' }), new Error('a fault of ours')];
  const statuses: number[] = [];
  const charges = await chargesOf(async () => {
    for (const failure of failures) {
      work = () => Promise.reject(failure);
      statuses.push((await call()).status);
    }
  });
  expect([charges, statuses]).toEqual([0, [422, 500]]);
});

it.each([
  ['answers without a bill', async () => json({})],
  ['answers in a stream that breaks before its bill', breakingStream],
])('releases a hold whose work %s', async (_how, work) => {
  leaveOpen = work;
  const charges = await chargesOf(async () => {
    const response = await api.call('/test/open', { method: 'POST', key });
    await response.text().catch(() => undefined);
  });
  expect(charges).toBe(0);
});

async function breakingStream(hold: LedgerHold): Promise<Answer> {
  return events(settleAfterStream(hold, () => Promise.reject(new Error('the stream broke'))));
}
