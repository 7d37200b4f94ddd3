/** `npm start`: runs the whole service on one machine until Ctrl-C, with a demonstration job at the first start. */
import path from 'node:path';
import {
  DEMO_NETWORK,
  DEMO_RPC_NETWORK,
  type DemoChain,
  startDemoChain,
  writeDemoConfiguration,
} from '../dev/chain/demoChain.ts';
import { AlreadyRunning, type DataFolder, openDataFolder } from '../dev/stack/dataFolder.ts';
import { demonstrate } from '../dev/stack/demonstrate.ts';
import { deploymentEnvironment, findPrograms, serversToStart } from '../dev/stack/deployment.ts';
import { removeDevFile, writeDevFile } from '../dev/stack/devFile.ts';
import { freePorts, portProblem } from '../dev/stack/freePorts.ts';
import { type LocateOptions, locateProgram } from '../dev/stack/locate.ts';
import { createProgress } from '../dev/stack/progress.ts';
import { anvilRecipe } from '../dev/stack/recipes/anvil.ts';
import { stopOrphans } from '../dev/stack/runRecords.ts';
import { type Demo, saveDemo, seedDemo } from '../dev/stack/seedDemo.ts';
import { startServices } from '../dev/stack/services.ts';
import { startServers } from '../dev/stack/startServers.ts';
import type { SuperviseOptions } from '../dev/stack/supervise.ts';
import { openSupervision, type Supervision, stopWhenAsked } from '../dev/stack/supervision.ts';
import { BASE_PATH } from '../domain/basePaths.ts';
import { type Config, loadConfig } from '../infra/config/config.ts';
import { demoChainClashes } from '../infra/config/demoChain.ts';
import {
  type Environment,
  processEnvironment,
  type REQUIRED_VARIABLES,
  readEnvironment,
} from '../infra/config/environment.ts';
import { withFoundModels } from '../infra/config/withFoundModels.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { openStorage } from '../infra/s3/storage.ts';
import { registerSearchAttributes } from '../infra/temporal/searchAttributes.ts';
import { findOllama } from '../providers/ollama/findOllama.ts';
import { PROVIDERS } from '../providers/registry.ts';
import { CommandError, errorLine } from './commandError.ts';
import { SEARCH_ATTRIBUTE_TYPES } from './searchAttributeTypes.ts';
import { announce, type FoundModels } from './startAnnouncement.ts';
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
    // A stop during the start makes the start fail, which is not an error.
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
  const tellOthers = () => writeDevFile({ ...ready, dataFolder: folder.path, processes: supervision.processes() });
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

/** Creates the schema, search attributes, bucket and demo account where they are missing. */
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

/** For the announcement only. The API looks for Ollama itself. */
async function lookForOllama(config: Config): Promise<FoundModels | undefined> {
  const { ollamaAddress: address } = config;
  const found = address === undefined ? undefined : await findOllama({ address });
  if (address === undefined || found === undefined) return undefined;
  return { address, ids: withFoundModels(config, found.models).added.map(({ id }) => id) };
}

/** A failed demonstration is printed and repeated at the next start. The service keeps running. */
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

interface Address {
  host: string;
  port: number;
  /** URL by which this machine reaches it. */
  origin: string;
  baseUrl: string;
}

/** PORT 0 chooses any free port. */
async function addressOf({ HOST, PORT }: Environment): Promise<Address> {
  const [port = PORT] = PORT === 0 ? await freePorts(1) : [PORT];
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
  const origin = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
  return { host: HOST, port, origin, baseUrl: `${origin}${BASE_PATH}` };
}

/** Throws CommandError when the address cannot be listened on. */
async function mustBeFree({ host, port }: Address): Promise<void> {
  const problem = await portProblem(port, host);
  if (problem === undefined) return;
  const why = problem === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${problem})`;
  throw new CommandError(`port ${port} of ${host} ${why}: set PORT (or HOST) to another`, 1);
}

/** Placeholders for addresses that exist only once the parts run, so that everything else can be checked before. */
const NOT_YET: Record<(typeof REQUIRED_VARIABLES)[number], string> = {
  DATABASE_URL: 'postgres://127.0.0.1/farebox',
  REDIS_URL: 'redis://127.0.0.1',
  S3_ENDPOINT: 'http://127.0.0.1',
  S3_BUCKET: 'farebox',
  S3_ACCESS_KEY_ID: 'farebox',
  S3_SECRET_ACCESS_KEY: 'farebox',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
};

/** Checks the environment and the configuration file before anything starts. Throws ConfigError. */
function checkConfiguration(given: NodeJS.ProcessEnv): { environment: Environment; config: Config } {
  const set = Object.entries(given).filter(([, value]) => value?.trim());
  const config = loadConfig(PROVIDERS, { ...NOT_YET, ...Object.fromEntries(set) });
  return { environment: readEnvironment(given), config };
}

/** Throws CommandError when the operator's file names a network that the demo chain would take. */
function mustLeaveRoom(config: Pick<Config, 'x402' | 'rpc'>): void {
  const [clash] = demoChainClashes(config, { network: DEMO_NETWORK, rpcNetworks: [DEMO_RPC_NETWORK] });
  if (clash !== undefined) throw new CommandError(clash);
}

interface DemoChainStart {
  folder: string;
  locate: LocateOptions;
  supervision: SuperviseOptions;
}

/** The returned `environment` is for all processes that use the chain. Throws PartMissing when there is no anvil. */
async function openDemoChain({ folder, locate, supervision }: DemoChainStart): Promise<{
  chain: DemoChain;
  environment: Record<string, string>;
}> {
  const program = await locateProgram(anvilRecipe, locate);
  const chain = await startDemoChain({ program, folder, supervision });
  return { chain, environment: { FAREBOX_DEMO_CHAIN: writeDemoConfiguration(folder, chain) } };
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof AlreadyRunning) {
    say(`Farebox is ${error.message}. Another one needs its own folder and port: FAREBOX_DATA=… PORT=… npm start`);
  } else {
    process.stderr.write(`${errorLine(error)}\n`);
    process.exitCode = 1;
  }
}
