/** Plays one case in a world without other users, and audits the result. */

import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../harness/until.ts';
import { auditJob } from './audit.ts';
import type { KillCase } from './cases.ts';
import { FLOWS, type FlowResult } from './flows.ts';
import type { KillWorld } from './killWorld.ts';

/** Time for a resumed process to do harm. */
const ZOMBIE_MS = 2_000;
const FIRE_LIMIT_MS = 300_000;

export async function runCase(world: KillWorld, each: KillCase): Promise<{ swept: number }> {
  const payer = await world.createPayer();
  const client = { baseUrl: () => world.baseUrl, secret: payer.secret };
  const armed = world[each.at];
  let begun = false;
  const begin = () => {
    armed.arm(each.arm);
    begun = true;
  };
  const flow = FLOWS[each.flow]({ world, client, begin });
  const [result] = await Promise.all([flow, strike(world, each, { flow, begun: () => begun })]);
  return await auditJob(world, { payer, client, result });
}

interface Running {
  flow: Promise<FlowResult>;
  begun(): boolean;
}

async function strike(world: KillWorld, each: KillCase, { flow, begun }: Running): Promise<void> {
  const armed = world[each.at];
  const last = each.arm.split(',').at(-1) ?? '';
  let over = false;
  const end = () => {
    over = true;
  };
  flow.then(end, end);
  // A failpoint after the last answer may fire shortly after the flow ended.
  await until('the flow has come so far', () => begun() || over, FIRE_LIMIT_MS);
  await until(`${each.arm} fires`, () => armed.hasFired(last), FIRE_LIMIT_MS);
  if (each.strike === 'own death') {
    await armed.death();
    await armed.respawn();
  }
  if (each.strike === 'kill the other') {
    const other = each.at === 'api' ? world.worker : world.api;
    await other.kill();
    await other.respawn();
  }
  if (each.strike === 'freeze') await freeze(world, flow);
}

/** Suspends the worker until another one has finished the job, then resumes it. */
async function freeze(world: KillWorld, flow: Promise<FlowResult>): Promise<void> {
  world.worker.signal('SIGSTOP');
  const substitute = await world.spawnWorker();
  try {
    await flow;
  } finally {
    world.worker.signal('SIGCONT');
  }
  await sleep(ZOMBIE_MS);
  substitute.kill('SIGKILL');
  await substitute.exit;
}
