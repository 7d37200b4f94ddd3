import { freePorts, portProblem } from '../dev/stack/freePorts.ts';
import type { Environment } from '../infra/config/environment.ts';
import { CommandError } from './commandError.ts';

export interface Address {
  host: string;
  port: number;
  /** How this machine reaches it. */
  origin: string;
  baseUrl: string;
}

/** PORT 0: any free port. */
export async function addressOf({ HOST, PORT }: Environment): Promise<Address> {
  const [port = PORT] = PORT === 0 ? await freePorts(1) : [PORT];
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
  const origin = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
  return { host: HOST, port, origin, baseUrl: `${origin}/api/v1` };
}

/** Throws CommandError when nothing can listen there. */
export async function mustBeFree({ host, port }: Address): Promise<void> {
  const problem = await portProblem(port, host);
  if (problem === undefined) return;
  const why = problem === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${problem})`;
  throw new CommandError(`port ${port} of ${host} ${why}: set PORT (or HOST) to another`, 1);
}
