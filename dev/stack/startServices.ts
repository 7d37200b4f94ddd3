/** Starts the API and one worker, and waits until both do their work. */
import type { Config } from '../../infra/config/config.ts';
import { apiProcess, mustAnswer, workerProcess } from './services.ts';
import { type SuperviseOptions, supervise } from './supervise.ts';
import { untilTrue } from './untilTrue.ts';
import { mustPoll } from './workerPolls.ts';

export interface ServicesOptions {
  environment: NodeJS.ProcessEnv;
  config: Config;
  /** Where the API is reached, e.g. http://127.0.0.1:8080. */
  origin: string;
  supervision: SuperviseOptions;
}

const READY_TIMEOUT_MS = 60_000;

/** Throws, with the reason of what is not ready, when that takes longer than a minute. */
export async function startServices(options: ServicesOptions): Promise<void> {
  const { config, origin, supervision } = options;
  const how = { environment: options.environment, cwd: process.cwd() };
  const [, worker] = await Promise.all([
    supervise(apiProcess(how, origin), supervision),
    supervise(workerProcess(how), supervision),
  ]);
  const polls = () => mustPoll({ ...config.temporal, queue: 'jobs', pid: worker.pid() ?? 0 });
  await Promise.all([
    untilTrue('the API is not ready', () => mustAnswer(`${origin}/readyz`), READY_TIMEOUT_MS),
    untilTrue('the worker is not ready', polls, READY_TIMEOUT_MS),
  ]);
}
