/**
 * Failpoints, by name (CRASH-1 to CRASH-41). A no-op unless the process was started with `FAREBOX_TEST_POINT`, which
 * only the kill tests do. A setting is `name:action[:visit[:ms]]`; several have commas between them. Visits start at 1.
 * - `kill` ends this process by SIGKILL: there and then, or `ms` later while the work goes on.
 * - `lose` throws after the effect, as a lost reply would.
 * - `pause` waits for `ms`.
 * `FAREBOX_TEST_POINT=@file` reads the setting from that file at each passing, so that a test can arm a process that
 * already runs; what has fired is added to `file.fired`, one setting a line.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

interface ArmedFailpoint {
  text: string;
  name: string;
  action: string;
  visit: number;
  ms: number;
  visits: number;
}

let armed: ArmedFailpoint[] | undefined;
let control: { file: string; text: string } | undefined;

/** Arms failpoints for the life of this process; called once by the entry points with the configured value. */
export function armFailpoints(specification: string | undefined): void {
  control = specification?.startsWith('@') ? { file: specification.slice(1), text: '' } : undefined;
  armed = specification ? parse(control ? '' : specification) : undefined;
}

/** Marks a place where a crash, a lost reply or a pause must do no harm. Costs one comparison when none is armed. */
export function failpoint(name: string): Promise<void> | undefined {
  if (armed === undefined) return undefined;
  const target = visit(name);
  return target && fire(target);
}

/** Whether this failpoint is armed, for places that cost something to reach. */
export function isFailpointArmed(name: string): boolean {
  if (armed === undefined) return false;
  reread();
  return armed.some((each) => each.name === name);
}

function visit(name: string): ArmedFailpoint | undefined {
  reread();
  const passed = (armed ?? []).filter((each) => each.name === name);
  for (const each of passed) each.visits += 1;
  return passed.find((each) => each.visits === each.visit);
}

function reread(): void {
  if (control === undefined) return;
  const text = readFileSync(control.file, 'utf8').trim();
  if (text === control.text) return;
  control.text = text;
  armed = parse(text);
}

function parse(specification: string): ArmedFailpoint[] {
  return specification
    .split(',')
    .filter((text) => text !== '')
    .map((text) => {
      const [name = '', action = 'kill', visitText = '1', ms = '0'] = text.split(':');
      return { text, name, action, visit: Number(visitText), ms: Number(ms), visits: 0 };
    });
}

async function fire({ text, name, action, ms }: ArmedFailpoint): Promise<void> {
  if (control) appendFileSync(`${control.file}.fired`, `${text}\n`);
  if (action === 'kill') {
    if (ms > 0) {
      setTimeout(killSelf, ms);
      return;
    }
    killSelf();
    await sleep(60_000);
  }
  if (action === 'pause') await sleep(ms);
  if (action === 'lose') throw new Error(`lost reply at ${name}`);
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}
