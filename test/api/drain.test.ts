/** Steps of a process that is told to stop, in their order. */
import { createServer } from 'node:http';
import { expect, it, vi } from 'vitest';
import { drain } from '../../api/server/drain.ts';
import { createInFlight } from '../../api/server/inFlight.ts';

it('tells streams at two thirds of its time, and cuts what is left at its end', async () => {
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
