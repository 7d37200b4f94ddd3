import { processEnvironment } from '../../infra/config/environment.ts';

/** What a part sees of the caller's environment: where programs lie, and nothing that would change its behaviour. */
export function partEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  return { PATH: processEnvironment().PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...extra };
}
