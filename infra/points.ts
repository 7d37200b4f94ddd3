/**
 * Named crash points (reliability C.4). A no-op unless the process was started with `FAREBOX_TEST_POINT`, which only the
 * kill tests do: `name:kill[:visit]` kills this process there, `name:lose[:visit]` throws after the effect as a lost
 * reply would, `name:pause:visit:ms` sleeps past a timeout and goes on as a zombie. Visits count from 1, default 1.
 */
import { setTimeout as sleep } from 'node:timers/promises';

interface ArmedPoint {
  name: string;
  action: string;
  visit: number;
  ms: number;
}

let armed: ArmedPoint | undefined;
let visits = 0;

/** Arms one point for the life of this process; called once by the entry points with the configured value. */
export function armPoint(specification: string | undefined): void {
  if (!specification) return;
  const [name = '', action = 'kill', visit = '1', ms = '0'] = specification.split(':');
  armed = { name, action, visit: Number(visit), ms: Number(ms) };
  visits = 0;
}

/** Marks a place where a crash, a lost reply or a pause must do no harm. Costs one comparison when nothing is armed. */
export function point(name: string): Promise<void> | undefined {
  if (armed === undefined || armed.name !== name) return undefined;
  visits += 1;
  if (visits !== armed.visit) return undefined;
  return fire(armed);
}

async function fire(target: ArmedPoint): Promise<void> {
  if (target.action === 'kill') {
    process.kill(process.pid, 'SIGKILL');
    await sleep(60_000);
  }
  if (target.action === 'pause') await sleep(target.ms);
  if (target.action === 'lose') throw new Error(`lost reply at ${target.name}`);
}
