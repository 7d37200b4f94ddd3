/** The whole service as `npm start` runs it, durable as shipped, whose supervisor brings back what a test kills. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { processEnvironment } from '../../infra/config/environment.ts';
import { freePorts } from '../../infra/stack/freePorts.ts';
import { stopOrphans } from '../../infra/stack/runRecords.ts';
import { services } from '../harness/services.ts';
import { spawnNode } from '../harness/spawn.ts';
import { until } from '../harness/until.ts';

export const STACK_PARTS = ['api', 'worker', 'postgres', 'redis', 's3', 'temporal'] as const;
export type StackPart = (typeof STACK_PARTS)[number];

export interface DevFile {
  baseUrl: string;
  temporal: { address: string; namespace: string };
  databaseUrl: string;
  s3: Record<'endpoint' | 'region' | 'bucket' | 'accessKeyId' | 'secretAccessKey', string>;
  processes: Record<StackPart, number>;
}

export interface Stack {
  dev: DevFile;
  dataFolder: string;
  /** SIGKILL; false when it is down already. */
  kill(part: StackPart): boolean;
  /** Every process that was killed has another one in its place; it may not answer yet. */
  isReplaced(): boolean;
  /** What the supervisor said. */
  log(): string;
  logOf(part: StackPart): string;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 120_000;

export async function startStack(name: string, config: object): Promise<Stack> {
  const { folder, runFolder, ffmpegPath, ffprobePath, espeakPath, recogniser } = services();
  const dataFolder = path.join(folder, name);
  mkdirSync(dataFolder);
  const file = path.join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(config));
  const [port] = await freePorts(1);
  const { XDG_CACHE_HOME } = processEnvironment();
  const start = spawnNode({
    ...{ script: 'dist/cli/start.js', name: 'start', args: ['--no-demo'], runFolder },
    environment: {
      ...{ PORT: String(port), FAREBOX_DATA: dataFolder, FAREBOX_CONFIG: file },
      ...{ FFMPEG_PATH: ffmpegPath, FFPROBE_PATH: ffprobePath, ESPEAK_PATH: espeakPath },
      ...{ POCKETSPHINX_PATH: recogniser.path, POCKETSPHINX_MODEL: recogniser.model },
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
    },
  });
  await until('the stack runs', () => start.logs().includes('Running.'), START_LIMIT_MS);
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
    isReplaced: () => Object.values(readDev().processes).every((pid) => !killed.has(pid)),
    log: () => start.logs(),
    logOf: (part) => readFileSync(path.join(dataFolder, 'logs', `${part}.log`), 'utf8'),
    async stop() {
      await start.stop();
      await stopOrphans(dataFolder);
    },
  };
}

function killNow(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}
