/** `dev.json`: access to a running `npm start` for other programs. Exists only while it is ready. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../infra/config/config.ts';
import type { DemoChain } from '../chain/demoChain.ts';
import { writeJson } from './jsonFile.ts';
import type { Demo } from './seedDemo.ts';

export interface DevFileOptions {
  dataFolder: string;
  config: Config;
  baseUrl: string;
  demo: Demo;
  temporalUiUrl?: string;
  chain?: DemoChain;
  processes: Record<string, number>;
}

export function writeDevFile(options: DevFileOptions): void {
  const { config, demo } = options;
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = config.s3;
  writeJson(devFile(options.dataFolder), {
    baseUrl: options.baseUrl,
    accountId: demo.accountId,
    keys: demo.keys,
    temporal: { ...config.temporal, ...(options.temporalUiUrl && { uiUrl: options.temporalUiUrl }) },
    databaseUrl: config.databaseUrl,
    redisUrl: config.redisUrl,
    s3: { endpoint, region, bucket, accessKeyId, secretAccessKey },
    ...(options.chain && { chain: options.chain }),
    processes: options.processes,
  });
}

export function removeDevFile(dataFolder: string): void {
  rmSync(devFile(dataFolder), { force: true });
}

function devFile(dataFolder: string): string {
  return path.join(dataFolder, 'dev.json');
}
