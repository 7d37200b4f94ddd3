/** Shutdown steps of a process, in their order. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, vi } from 'vitest';
import { drain } from '../../api/server/drain.ts';
import { createInFlight } from '../../api/server/inFlight.ts';
import { until } from '../harness/until.ts';

it('tells streams at two thirds of the drain time, and cuts the rest at its end', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const inFlight = createInFlight();
  inFlight.enter();
  const steps: string[] = [];
  for (const step of ['stopping', 'ending', 'cutting'] as const)
    inFlight[step].addEventListener('abort', () => steps.push(step));
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const ended = drain(server, inFlight, 600);
  const waits = timers.mock.calls.map(([, ms]) => ms);
  timers.mockRestore();
  expect(waits).toEqual([400]);
  expect(steps).toEqual(['stopping']);
  expect(await ended).toBe(false);
  expect(steps).toEqual(['stopping', 'ending', 'cutting']);
});

it('destroys an open response before the event loop turns, so that a late upstream reply is not billed', async () => {
  const inFlight = createInFlight();
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    response.once('close', inFlight.enterResponse(response));
    responses.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = fetch(`http://127.0.0.1:${port}/`).catch(() => 'cut');
  await until('the request is open', () => responses.length === 1);
  expect(await drain(server, inFlight, 50)).toBe(false);
  expect(responses.map(({ destroyed, closed }) => ({ destroyed, closed }))).toEqual([
    { destroyed: true, closed: false },
  ]);
  expect(await answer).toBe('cut');
  await inFlight.drain();
});
