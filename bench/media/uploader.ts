/**
 * Thread that sends one file many times at once, so that it does not delay the measurement in the main thread. The form
 * is encoded once, because only the receiver's work is measured.
 */
import { once } from 'node:events';
import http from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { Uploads } from './uploadAll.ts';

const { url, key, fields, file, count } = workerData as Uploads;
const BOUNDARY = 'farebox-bench';

const part = (disposition: string, type: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n${type}\r\n`;
const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`, '')}${value}\r\n`);
const body = Buffer.concat([
  Buffer.from(texts.join('')),
  Buffer.from(part('name="image"; filename="noise.png"', 'Content-Type: image/png\r\n')),
  file,
  Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
]);

async function upload(): Promise<number> {
  const request = http.request(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': body.length,
    },
    agent: false,
  });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
}

parentPort?.on('message', async () => {
  parentPort?.postMessage(await Promise.all(Array.from({ length: count }, upload)));
});
parentPort?.postMessage('ready');
