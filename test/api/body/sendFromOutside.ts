/** Sends a body from its own process, so that the measurements here concern the server alone. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SENDER = `
const [url, type, path, times, more] = process.argv.slice(1);
const body = require('node:fs').readFileSync(path);
const one = () => new Promise((resolve, reject) => {
  const headers = { ...JSON.parse(more), 'content-type': type, 'content-length': body.length };
  require('node:http').request(url, { method: 'POST', headers }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode));
  }).on('error', reject).end(body);
});
Promise.all(Array.from({ length: Number(times) }, one)).then((all) => console.log(JSON.stringify(all)));
`;

export interface OutsideOptions {
  url: string;
  type: string;
  body: Buffer;
  /** Number of simultaneous requests. Default: 1. */
  times?: number;
  headers?: Record<string, string>;
}

/** Returns the statuses of the answers. */
export async function sendFromOutside(options: OutsideOptions): Promise<number[]> {
  const { url, type, body, times = 1, headers = {} } = options;
  const path = join(tmpdir(), `farebox-test-${randomUUID()}`);
  await writeFile(path, body);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '-e',
      SENDER,
      url,
      type,
      path,
      String(times),
      JSON.stringify(headers),
    ]);
    return JSON.parse(stdout) as number[];
  } finally {
    await rm(path, { force: true });
  }
}
