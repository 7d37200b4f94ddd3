/** `npm start`: the whole service on one machine, from what the operator set to a paid job, until Ctrl-C. */
import path from 'node:path';
import { type Config, loadConfig } from '../infra/config/config.ts';
import { type Environment, processEnvironment } from '../infra/config/environment.ts';
import { migrate } from '../infra/postgres/migrate.ts';
import { openStorage } from '../infra/s3/storage.ts';
import { AlreadyRunning, type DataFolder, openDataFolder } from '../infra/stack/dataFolder.ts';
import { demonstrate } from '../infra/stack/demonstrate.ts';
import { deploymentEnvironment, findPrograms, serversToStart } from '../infra/stack/deployment.ts';
import { removeDevFile, writeDevFile } from '../infra/stack/devFile.ts';
import { freePorts, portProblem } from '../infra/stack/freePorts.ts';
import { createProgress } from '../infra/stack/progress.ts';
import { createRunning } from '../infra/stack/running.ts';
import { stopOrphans } from '../infra/stack/runRecords.ts';
import { type Demo, saveDemo, seedDemo } from '../infra/stack/seedDemo.ts';
import { apiProcess, mustAnswer, workerProcess } from '../infra/stack/services.ts';
import { type Servers, startServers } from '../infra/stack/startServers.ts';
import { supervise } from '../infra/stack/supervise.ts';
import { untilTrue } from '../infra/stack/untilTrue.ts';
import { mustPoll } from '../infra/stack/workerPolls.ts';
import { registerSearchAttributes } from '../infra/temporal/searchAttributes.ts';
import { CommandError, errorLine } from './commandError.ts';
import { SEARCH_ATTRIBUTE_TYPES } from './searchAttributeTypes.ts';
import { announce } from './startAnnouncement.ts';
import { checkConfiguration } from './startConfiguration.ts';
import { readStartOptions, START_HELP } from './startOptions.ts';

const READY_TIMEOUT_MS = 60_000;

const say = (text: string) => process.stdout.write(`${text}\n`);
const progress = createProgress({
  write: (text) => process.stdout.write(text),
  isTerminal: process.stdout.isTTY === true,
});
const running = createRunning();

async function start(args: readonly string[]): Promise<void> {
  const startedAt = Date.now();
  const options = readStartOptions(args);
  if (options === undefined) {
    say(START_HELP);
    return;
  }
  const given = processEnvironment();
  const environment = checkConfiguration(given);
  const address = await addressOf(environment);
  const folder = openDataFolder(path.resolve(environment.FAREBOX_DATA), address.baseUrl);
  stopWhenAsked(folder);
  await stopLeftovers(folder);
  await mustBeFree(address);

  const names = serversToStart(environment);
  const programs = await findPrograms(names, folder, { environment: given, progress });
  const servers = await startParts(folder, programs, environment);
  const shared = deploymentEnvironment({
    given,
    programs,
    dataFolder: folder.path,
    port: address.port,
    started: servers.environment,
  });
  const config = loadConfig(shared);
  const demo = await prepare(folder, config);
  await startServices(shared, config, address.origin);

  const ready = { folder, config, demo, servers, baseUrl: address.baseUrl };
  tellOthers(ready);
  say(announce({ ...ready, seconds: (Date.now() - startedAt) / 1_000 }));
  if (options.demo && !demo.demonstrated) await showDemonstration(ready);
  say('\nRunning. Ctrl-C stops everything.');
}

interface Address {
  host: string;
  port: number;
  origin: string;
  baseUrl: string;
}

async function addressOf({ HOST, PORT }: Environment): Promise<Address> {
  const [anyPort = 0] = PORT === 0 ? await freePorts(1) : [PORT];
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
  const origin = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${anyPort}`;
  return { host: HOST, port: anyPort, origin, baseUrl: `${origin}/api/v1` };
}

async function stopLeftovers(folder: DataFolder): Promise<void> {
  removeDevFile(folder.path);
  const stopped = await stopOrphans(folder.path);
  if (stopped.length > 0) say(`stopped what an earlier start left running: ${stopped.join(', ')}`);
}

async function mustBeFree({ host, port }: Address): Promise<void> {
  const problem = await portProblem(port, host);
  if (problem === undefined) return;
  const why = problem === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${problem})`;
  throw new CommandError(`port ${port} of ${host} ${why}: set PORT (or HOST) to another`, 1);
}

function startParts(
  folder: DataFolder,
  programs: Awaited<ReturnType<typeof findPrograms>>,
  { S3_REGION: region }: Environment,
): Promise<Servers> {
  const { path: dataFolder, secrets } = folder;
  return startServers({
    folder: dataFolder,
    programs,
    secrets,
    region,
    withUi: true,
    events: eventsOf(dataFolder),
  });
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

async function startServices(environment: NodeJS.ProcessEnv, config: Config, origin: string): Promise<void> {
  const options = { environment, cwd: process.cwd() };
  const supervision = { folder: config.dataFolder, ...eventsOf(config.dataFolder) };
  const [, worker] = await Promise.all([
    supervise(apiProcess(options, origin), supervision),
    supervise(workerProcess(options), supervision),
  ]);
  const polls = () => mustPoll({ ...config.temporal, queue: 'jobs', pid: worker.pid() ?? 0 });
  await Promise.all([
    untilTrue('the API is not ready', () => mustAnswer(`${origin}/readyz`), READY_TIMEOUT_MS),
    untilTrue('the worker is not ready', polls, READY_TIMEOUT_MS),
  ]);
}

/** What a restart changes is told, and written down where others look for it. */
let tellAgain: () => void = () => undefined;

function eventsOf(dataFolder: string) {
  const seconds = (ms: number) => `${ms / 1_000} s`;
  return {
    register: running.add,
    onCrash: ({ name, how, restartInMs }: { name: string; how: string; restartInMs: number }) =>
      say(
        `${name} ended (${how}); it starts again in ${seconds(restartInMs)}. Log: ${dataFolder}/logs/${name}.log`,
      ),
    onRestart: ({ name, pid }: { name: string; pid: number }) => {
      say(`${name} runs again (process ${pid})`);
      tellAgain();
    },
  };
}

interface Ready {
  folder: DataFolder;
  config: Config;
  demo: Demo;
  servers: Servers;
  baseUrl: string;
}

function tellOthers({ folder, config, demo, servers: { temporalUiUrl }, baseUrl }: Ready): void {
  tellAgain = () =>
    writeDevFile({
      dataFolder: folder.path,
      config,
      demo,
      baseUrl,
      processes: running.processes(),
      ...(temporalUiUrl && { temporalUiUrl }),
    });
  tellAgain();
}

/** A demonstration that fails is told, and tried again by the next start; the service runs on. */
async function showDemonstration({ folder, demo, baseUrl }: Ready): Promise<void> {
  try {
    await demonstrate({ baseUrl, keys: demo.keys, folder: folder.path, say });
    saveDemo(folder.path, { ...demo, demonstrated: true });
  } catch (error) {
    if (!stopping) say(`  the demonstration failed: ${errorLine(error)}`);
  }
}

let stopping: Promise<void> | undefined;

function stopWhenAsked(folder: DataFolder): void {
  const stop = () => {
    if (stopping !== undefined) {
      running.killAll();
      process.exit(1);
    }
    say('\nstopping …');
    void shutDown(folder).then(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack ?? error.message}\n`);
    void shutDown(folder).then(() => process.exit(1));
  });
  // Whoever read our output may be gone; the service is not.
  process.stdout.on('error', () => undefined);
  endAll = () => shutDown(folder);
}

let endAll: () => Promise<void> = async () => undefined;

function shutDown(folder: DataFolder): Promise<void> {
  tellAgain = () => undefined;
  removeDevFile(folder.path);
  stopping ??= running.stopAll().then(() => {
    folder.release();
    say('stopped');
  });
  return stopping;
}

try {
  await start(process.argv.slice(2));
} catch (error) {
  if (error instanceof AlreadyRunning) {
    say(
      `Farebox is ${error.message}. Another one needs another folder and port: FAREBOX_DATA=… PORT=… npm start`,
    );
  } else if (stopping === undefined) {
    process.stderr.write(`${errorLine(error)}\n`);
    process.exitCode = 1;
    await endAll();
    process.exit();
  }
}
