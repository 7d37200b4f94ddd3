/** The memory budget for all request bodies of one process. */
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createBodyBudget } from '../../../api/body/bodyBuffer.ts';
import { json } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { startApi, type TestApi } from '../startApi.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('the budget', () => {
  it('keeps a quarter for small bodies, and lets one owner take half of the rest', () => {
    const budget = createBodyBudget(200 * MIB);
    const first = budget.open('a');
    first.take(75 * MIB);
    expect(() => budget.open('a').take(MIB)).toThrow('Too many large requests');
    budget.open('a').take(256 * KIB);
    const second = budget.open('b');
    second.take(74 * MIB);
    expect(() => budget.open('c').take(MIB)).toThrow('try again in 2 seconds');
    budget.open('c').take(256 * KIB);
    first.release();
    budget.open('c').take(MIB);
  });

  it('counts a growing body as the sum of its parts, and releases it once', () => {
    const budget = createBodyBudget(100 * MIB);
    const reservedBytes = budget.open('a');
    for (let part = 0; part < 35; part += 1) reservedBytes.take(MIB);
    expect(budget.reservedBytes).toBe(35 * MIB);
    expect(() => reservedBytes.take(40 * MIB)).toThrow();
    reservedBytes.release();
    reservedBytes.release();
    expect(budget.reservedBytes).toBe(0);
  });

  it('gives all of it to small bodies, and no more', () => {
    const budget = createBodyBudget(MIB);
    for (let taken = 0; taken < 4; taken += 1) budget.open(`${taken}`).take(256 * KIB);
    expect(() => budget.open('a').take(1)).toThrow('Too many');
  });
});

describe('the API', () => {
  const keeping = defineRoute({
    method: 'POST',
    path: '/test/keeping',
    access: 'open',
    body: { json: { schema: z.strictObject({ a: z.string() }), maxBytes: 2 * MIB } },
    handler: async (_dependencies, { body }) => json({ length: body.a.length }),
  });
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi({ routes: [keeping] });
    api.opened.dependencies.limits.bodyBudget = createBodyBudget(8 * MIB);
  });
  afterAll(() => api.stop());

  const send = (length: number) =>
    api.call('/test/keeping', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ a: 'x'.repeat(length) }),
    });

  it('refuses a large body while others are held, serves small ones, and releases bodies that break off', async () => {
    const sockets = Array.from({ length: 3 }, () => sendHalf(api, 1.4 * MIB));
    const { bodyBudget } = api.opened.dependencies.limits;
    await expect.poll(() => bodyBudget.reservedBytes).toBeGreaterThan(5.5 * MIB);
    const refused = await send(MIB);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await refused.json()).toEqual({
      error: 'Too many large requests are being read at the moment; try again in 2 seconds',
    });
    expect((await send(1_000)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => bodyBudget.reservedBytes).toBe(0);
    expect((await send(MIB)).status).toBe(200);
    expect(bodyBudget.reservedBytes).toBe(0);
  });
});

function sendHalf(api: TestApi, bytes: number): Socket {
  const { port } = api.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    'POST /api/v1/test/keeping HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${2 * MIB}\r\n\r\n{"a":"${'x'.repeat(bytes)}`,
  );
  return socket;
}
