/** The whole service as `npm start` runs it, with default durability. Its supervisor restarts what a test kills. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { stopOrphans } from '../../dev/stack/runRecords.ts';
import { processEnvironment } from '../../infra/config/environment.ts';
import { services } from '../harness/services.ts';
import { type Spawned, spawnNode } from '../harness/spawn.ts';
import { until } from '../harness/until.ts';

export const STACK_PARTS = ['api', 'worker', 'postgres', 'redis', 's3', 'temporal'] as const;
type StackPart = (typeof STACK_PARTS)[number];

interface DevFile {
  baseUrl: string;
  temporal: { address: string; namespace: string };
  databaseUrl: string;
  s3: Record<'endpoint' | 'region' | 'bucket' | 'accessKeyId' | 'secretAccessKey', string>;
  processes: Record<StackPart, number>;
}

export interface Stack {
  dev: DevFile;
  dataFolder: string;
  /** Sends SIGKILL. Returns false if the process is gone already. */
  kill(part: StackPart): boolean;
  /** Parts whose killed process is not replaced yet. */
  unreplaced(): string[];
  /** Output of the supervisor. */
  log(): string;
  logOf(part: StackPart): string;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 120_000;

/** `variables` are added to its environment. An existing data folder of this name is reused. */
export async function startStack(name: string, config: object, variables: Record<string, string> = {}): Promise<Stack> {
  const file = path.join(services().folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(config));
  const { start, dataFolder } = await launch(name, ['--no-demo'], { ...variables, FAREBOX_CONFIG: file });
  const readDev = () => JSON.parse(readFileSync(path.join(dataFolder, 'dev.json'), 'utf8')) as DevFile;
  const killed = new Set<number>();
  return {
    dev: readDev(),
    dataFolder,
    kill(part) {
      const pid = readDev().processes[part];
      killed.add(pid);
      return killNow(pid);
    },
    unreplaced: () =>
      Object.entries(readDev().processes).flatMap(([part, pid]) => (killed.has(pid) ? `${part} ${pid}` : [])),
    log: () => start.logs(),
    logOf: (part) => readFileSync(path.join(dataFolder, 'logs', `${part}.log`), 'utf8'),
    stop: () => stopStack(start, dataFolder),
  };
}

/** Runs only the servers of a data folder, as `npm start -- --parts-only` does. */
export async function startStackParts(name: string) {
  const { start, dataFolder } = await launch(name, ['--parts-only'], {});
  const databaseUrl = /postgres:\/\/\S+/.exec(start.logs())?.[0] ?? '';
  return { databaseUrl, dataFolder, stop: () => stopStack(start, dataFolder) };
}

async function launch(name: string, flags: string[], variables: Record<string, string>) {
  const { folder, runFolder, ffmpegPath, ffprobePath, espeakPath, recogniser } = services();
  const dataFolder = path.join(folder, name);
  mkdirSync(dataFolder, { recursive: true });
  const [port] = await freePorts(1);
  const { XDG_CACHE_HOME } = processEnvironment();
  const start = spawnNode({
    ...{ script: 'dist/cli/start.js', name: 'start', args: flags, runFolder },
    environment: {
      ...{ PORT: String(port), FAREBOX_DATA: dataFolder },
      ...{ FFMPEG_PATH: ffmpegPath, FFPROBE_PATH: ffprobePath, ESPEAK_PATH: espeakPath },
      ...{ POCKETSPHINX_PATH: recogniser.path, POCKETSPHINX_MODEL: recogniser.model },
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
      ...variables,
    },
  });
  const isRunning = () => start.logs().includes('Running.');
  await until('the stack runs', isRunning, START_LIMIT_MS).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${start.logs()}`);
  });
  return { start, dataFolder };
}

async function stopStack(start: Spawned, dataFolder: string): Promise<void> {
  await start.stop();
  await stopOrphans(dataFolder);
}

function killNow(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}
