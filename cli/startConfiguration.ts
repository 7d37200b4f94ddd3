import { type Config, loadConfig } from '../infra/config/config.ts';
import { type Environment, type REQUIRED_VARIABLES, readEnvironment } from '../infra/config/environment.ts';
import { PROVIDERS } from '../providers/registry.ts';

/** Stand-ins for addresses that are known only once the parts run: what is checked here is all the rest. */
const NOT_YET: Record<(typeof REQUIRED_VARIABLES)[number], string> = {
  DATABASE_URL: 'postgres://127.0.0.1/farebox',
  REDIS_URL: 'redis://127.0.0.1',
  S3_ENDPOINT: 'http://127.0.0.1',
  S3_BUCKET: 'farebox',
  S3_ACCESS_KEY_ID: 'farebox',
  S3_SECRET_ACCESS_KEY: 'farebox',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
};

/** Environment and configuration file as a whole, before anything starts. Throws ConfigError. */
export function checkConfiguration(given: NodeJS.ProcessEnv): { environment: Environment; config: Config } {
  const set = Object.entries(given).filter(([, value]) => value?.trim());
  const config = loadConfig(PROVIDERS, { ...NOT_YET, ...Object.fromEntries(set) });
  return { environment: readEnvironment(given), config };
}
