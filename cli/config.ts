import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createCatalogue, mergeModels } from '../domain/catalogue/catalogue.ts';
import type { Model } from '../domain/catalogue/model.ts';
import { readCharacters } from '../infra/config/characters.ts';
import { configuredProviders } from '../infra/config/configuredProviders.ts';
import { processEnvironment, REQUIRED_VARIABLES, secretReader } from '../infra/config/environment.ts';
import { readOperatorEnvironment } from '../infra/config/operator.ts';
import { checkPaymentKeys } from '../infra/config/paymentKeys.ts';
import { ConfigError } from '../infra/config/problems.ts';
import { readConfigurationFile } from '../infra/config/readFile.ts';
import { configurationJsonSchema } from '../infra/config/schema/file.ts';
import { toModel } from '../infra/config/toModel.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { CommandError } from './commandError.ts';
import { list, print } from './output.ts';

export function addConfigCommands(program: Command): void {
  const config = program.command('config').description('environment and configuration file');
  config
    .command('check')
    .description('check the variables that are set and the configuration file; exits 1 when something is wrong')
    .option('--complete', 'also fail when a variable is missing that an API or a worker needs')
    .option('--json', 'print JSON')
    .action(check);
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file')
    .option('--out <file>', 'write it there instead')
    .action(schema);
}

function check(options: { complete?: boolean; json?: boolean }): void {
  try {
    const answer = examine();
    if (options.complete && answer.missing.length > 0) {
      throw new CommandError(`environment: not set: ${answer.missing.join(', ')}`, 1);
    }
    print(options, { json: answer, text: describe(answer) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (options.json) print(options, { json: { ok: false, problems: error.problems }, text: '' });
    throw new CommandError(error.message, 1);
  }
}

function examine() {
  const environment = readOperatorEnvironment();
  const file = readConfigurationFile(PROVIDERS, environment.FAREBOX_CONFIG);
  const configured = file.models.map(toModel);
  const catalogue = createCatalogue(mergeModels(configured));
  const keys = checkPaymentKeys(file.x402.networks, secretReader(processEnvironment()));
  if (keys.unusable.length > 0) throw new ConfigError('environment', keys.unusable);
  const characters = readCharacters(file.catalogue.charactersFile, catalogue);
  return {
    ok: true,
    missing: [...REQUIRED_VARIABLES.filter((name) => environment[name] === undefined), ...keys.unset],
    providers: Object.keys(configuredProviders(PROVIDERS, file.providers).providers),
    models: catalogue.models.filter(isServed).map((model) => model.id),
    unservedModels: configured.filter((model) => !isServed(model)).map(({ id, type }) => ({ id, type })),
    characters: characters.length,
  };
}

/** Whether any provider kind serves the model. Other models are listed as offline. */
function isServed(model: Model): boolean {
  return PROVIDERS.some(({ serves }) => serves.includes(model.kind));
}

function describe(answer: ReturnType<typeof examine>): string {
  const later = answer.unservedModels.map(({ id, type }) => `${id} (${type})`).join(', ');
  return list({
    configuration: 'valid',
    providers: answer.providers.join(', '),
    models: answer.models.join(', '),
    characters: String(answer.characters),
    ...(later ? { 'shown as offline': `${later}: this release does not serve these types` } : {}),
    ...(answer.missing.length ? { 'not set': `${answer.missing.join(', ')}: an API or a worker needs them` } : {}),
  });
}

function schema(options: { out?: string }): void {
  if (options.out === undefined) process.stdout.write(configurationJsonSchema(PROVIDERS));
  else writeFileSync(options.out, configurationJsonSchema(PROVIDERS));
}
