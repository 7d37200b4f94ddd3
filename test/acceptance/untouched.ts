/** Checks that a refused request changes nothing: money, jobs, storage, disk, and the speed for other clients. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { services } from '../harness/services.ts';
import { apiClient } from './client.ts';
import { type Deployment, eventually } from './deployment.ts';
import { probeVariables, readStall, type StallReport } from './stallReports.ts';

export async function expectUntouched(farebox: Deployment, transfersBefore: number): Promise<void> {
  expect(await farebox.transfers(), 'transfers').toBe(transfersBefore);
  expect(await farebox.objects(), 'objects').toEqual([]);
  expect(farebox.temporaryFiles(), 'files').toEqual([]);
  // The next task closes a workflow that has answered.
  const closed = async () => ((await farebox.openWorkflows()).length === 0 ? true : undefined);
  await eventually(closed);
}

export interface StallMeter {
  /** Environment of the measured process. */
  variables: Record<string, string>;
  /** Report since the last reading. */
  read(farebox: Deployment): Promise<StallReport>;
}

export function createStallMeter(): StallMeter {
  const file = path.join(services().folder, `${randomUUID()}.stall.json`);
  return { variables: probeVariables(file), read: ({ api }) => readStall(api.pid, file) };
}

export interface Bystander {
  /** Stops and returns the number of answers. */
  stop(): Promise<number>;
}

/** Another client that requests its balance twenty times a second and must get 200. */
export function startBystander(farebox: Deployment): Bystander {
  const { get } = apiClient(farebox.baseUrl, farebox.other.adminKey);
  let answered = 0;
  let stopped = false;
  const asking = (async () => {
    while (!stopped) {
      const { status } = await get('/billing/balance');
      expect(status).toBe(200);
      answered += 1;
      await sleep(50);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await asking;
      return answered;
    },
  };
}
