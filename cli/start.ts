/** `npm start`: the whole service on one machine, from what the operator set to a paid job, until Ctrl-C. */
import path from 'node:path';
import { AlreadyRunning, type DataFolder, openDataFolder } from '../dev/stack/dataFolder.ts';
import { demonstrate } from '../dev/stack/demonstrate.ts';
import { deploymentEnvironment, findPrograms, serversToStart } from '../dev/stack/deployment.ts';
import { removeDevFile, writeDevFile } from '../dev/stack/devFile.ts';
import { createProgress } from '../dev/stack/progress.ts';
import { stopOrphans } from '../dev/stack/runRecords.ts';
import { type Demo, saveDemo, seedDemo } from '../dev/stack/seedDemo.ts';
import { startServers } from '../dev/stack/startServers.ts';
import { startServices } from '../dev/stack/startServices.ts';
import { openSupervision, type Supervision, stopWhenAsked } from '../dev/stack/supervision.ts';
import { type Config, loadConfig } from '../infra/config/config.ts';
import { processEnvironment } from '../infra/config/environment.ts';
import { withFoundModels } from '../infra/config/withFoundModels.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { openStorage } from '../infra/s3/storage.ts';
import { registerSearchAttributes } from '../infra/temporal/searchAttributes.ts';
import { findOllama } from '../providers/ollama/findOllama.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { errorLine } from './commandError.ts';
import { SEARCH_ATTRIBUTE_TYPES } from './searchAttributeTypes.ts';
import { type Address, addressOf, mustBeFree } from './startAddress.ts';
import { announce, type FoundModels } from './startAnnouncement.ts';
import { checkConfiguration } from './startConfiguration.ts';
import { mustLeaveRoom, openDemoChain } from './startDemoChain.ts';
import { readStartOptions, START_HELP, type StartOptions } from './startOptions.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<void> {
  const options = readStartOptions(args);
  if (options === undefined) {
    say(START_HELP);
    return;
  }
  const { environment, config } = checkConfiguration(processEnvironment());
  if (options.demoChain) mustLeaveRoom(config);
  const address = await addressOf(environment);
  const folder = openDataFolder(path.resolve(environment.FAREBOX_DATA), address.baseUrl);
  const supervision = openSupervision(folder, say);
  stopWhenAsked(supervision, say);
  try {
    await start({ options, address, folder, supervision });
  } catch (error) {
    // Asked to stop in the middle of starting: what fails then fails because of that.
    if (supervision.isStopping()) return;
    process.stderr.write(`${errorLine(error)}\n`);
    await supervision.shutDown();
    process.exit(1);
  }
}

interface Start {
  options: StartOptions;
  address: Address;
  folder: DataFolder;
  supervision: Supervision;
}

async function start({ options, address, folder, supervision }: Start): Promise<void> {
  const startedAt = Date.now();
  const given = processEnvironment();
  const { environment } = checkConfiguration(given);
  await stopLeftovers(folder);
  await mustBeFree(address);

  const locate = { environment: given, progress };
  const programs = await findPrograms(serversToStart(environment), folder, locate);
  const servers = await startServers({
    folder: folder.path,
    programs,
    secrets: folder.secrets,
    region: environment.S3_REGION,
    withUi: true,
    supervision: supervision.options,
  });
  const demoChain = options.demoChain
    ? await openDemoChain({ folder: folder.path, locate, supervision: supervision.options })
    : undefined;
  const shared = deploymentEnvironment({
    given,
    programs,
    dataFolder: folder.path,
    port: address.port,
    started: { ...servers.environment, ...demoChain?.environment },
  });
  if (options.partsOnly) {
    say(`The servers run, without API and worker. The database:\n  ${shared.DATABASE_URL}\n\n${RUNNING}`);
    return;
  }
  const config = loadConfig(PROVIDERS, shared);
  const [demo, ollama] = await Promise.all([prepare(folder, config), lookForOllama(config)]);
  const { origin, baseUrl } = address;
  await startServices({ environment: shared, config, origin, supervision: supervision.options });

  const ready = {
    config,
    demo,
    baseUrl,
    ...(servers.temporalUiUrl && { temporalUiUrl: servers.temporalUiUrl }),
    ...(ollama && { ollama }),
    ...(demoChain && { chain: demoChain.chain }),
  };
  const tellOthers = () =>
    writeDevFile({ ...ready, dataFolder: folder.path, processes: supervision.processes() });
  supervision.whenRestarted(tellOthers);
  tellOthers();
  say(announce({ ...ready, seconds: (Date.now() - startedAt) / 1_000 }));
  if (options.demo && !demo.demonstrated) await showDemonstration({ folder, supervision }, demo, baseUrl);
  if (!supervision.isStopping()) say(`\n${RUNNING}`);
}

const RUNNING = 'Running. Ctrl-C stops everything.';

const progress = createProgress({
  write: (text) => process.stdout.write(text),
  isTerminal: process.stdout.isTTY === true,
});

async function stopLeftovers(folder: DataFolder): Promise<void> {
  removeDevFile(folder.path);
  const stopped = await stopOrphans(folder.path);
  if (stopped.length > 0) say(`stopped what an earlier start left running: ${stopped.join(', ')}`);
}

/** Schema, search attributes, bucket, demo account: each only what is missing. */
async function prepare(folder: DataFolder, config: Config): Promise<Demo> {
  const storage = openStorage(config.s3);
  try {
    await Promise.all([
      migrate(config.databaseUrl),
      registerSearchAttributes(config.temporal, SEARCH_ATTRIBUTE_TYPES),
      storage.createBucket(),
    ]);
  } finally {
    storage.close();
  }
  return await seedDemo(folder.path, config.databaseUrl);
}

/** For the person who started this; the API looks for itself. */
async function lookForOllama(config: Config): Promise<FoundModels | undefined> {
  const { ollamaAddress: address } = config;
  const found = address === undefined ? undefined : await findOllama({ address });
  if (address === undefined || found === undefined) return undefined;
  return { address, ids: withFoundModels(config, found.models).added.map(({ id }) => id) };
}

/** A demonstration that fails is told, and tried again by the next start; the service runs on. */
async function showDemonstration(
  { folder, supervision }: Pick<Start, 'folder' | 'supervision'>,
  demo: Demo,
  baseUrl: string,
): Promise<void> {
  try {
    await demonstrate({ baseUrl, keys: demo.keys, folder: folder.path, say });
    saveDemo(folder.path, { ...demo, demonstrated: true });
  } catch (error) {
    if (!supervision.isStopping()) say(`  the demonstration failed: ${errorLine(error)}`);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof AlreadyRunning) {
    say(
      `Farebox is ${error.message}. Another one needs its own folder and port: FAREBOX_DATA=… PORT=… npm start`,
    );
  } else {
    process.stderr.write(`${errorLine(error)}\n`);
    process.exitCode = 1;
  }
}
