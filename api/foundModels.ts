/** Finds models that are not configured: those of an Ollama on this machine. */
import type { Config } from '../infra/config/config.ts';
import { withFoundModels } from '../infra/config/withFoundModels.ts';
import type { Logger } from '../infra/log.ts';
import { findOllama } from '../providers/ollama/findOllama.ts';

/** Looks once: models that are added later are found by the next start of this process. */
export async function addFoundModels(config: Config, log: Logger): Promise<Config> {
  const { ollamaAddress: address } = config;
  const found = address === undefined ? undefined : await findOllama({ address });
  if (found === undefined) return config;
  const { config: all, added } = withFoundModels(config, found.models);
  const leftOut = found.leftOut + found.models.length - added.length;
  log.info({ models: added.map(({ id }) => id), leftOut }, 'an Ollama was found, and its models are listed');
  return all;
}
