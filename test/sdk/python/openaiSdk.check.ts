/** Runs the official Python package against an API whose stub upstream is scripted by `check_openai_sdk.py`. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTextWorld, type TextWorld } from '../../api/text/textWorld.ts';
import { ROOT } from '../../harness/spawn.ts';

let world: TextWorld;
beforeAll(async () => {
  world = await startTextWorld();
});
afterAll(() => world.close());

/** PUT sets the next answers of the upstream and clears its recorded requests. GET returns the requests since then. */
const control = createServer((request, response) => {
  void (async () => {
    if (request.method === 'PUT') {
      world.stub.next = JSON.parse(await textOf(request));
      world.stub.received.length = 0;
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(world.stub.received.map(({ path: to, body }) => ({ path: to, body }))));
  })().catch(() => response.destroy());
});
afterAll(() => void control.close());

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

function runPython(environment: Record<string, string>): Promise<number | null> {
  const python = process.env.FAREBOX_CHECK_PYTHON;
  if (!python) throw new Error('run it with: npm run check:python');
  const script = path.join(ROOT, 'test/sdk/python/check_openai_sdk.py');
  const child = spawn(python, ['-I', '-W', 'error::ResourceWarning', script], { env: environment });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => process.stdout.write(bytes));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

it('the Python package passes every check of its script against this API', async () => {
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  const newKey = async (more: object) => (await world.api.newKey('INFERENCE', more)).secret;
  const code = await runPython({
    BASE_URL: world.api.baseUrl,
    CONTROL_URL: `http://127.0.0.1:${(control.address() as AddressInfo).port}`,
    KEY: world.key,
    POOR_KEY: await newKey({}),
    SCOPED_KEY: await newKey({ accountId: world.accountId, models: ['gpt-second'] }),
  });
  await world.settled();
  expect(code).toBe(0);
});
