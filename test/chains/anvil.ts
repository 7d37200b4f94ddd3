/** Starts anvil as a child of the test process, obtained like every other part. */
import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { locateProgram } from '../../dev/stack/locate.ts';
import { anvilArguments } from '../../dev/stack/parts/anvil.ts';
import { createProgress } from '../../dev/stack/progress.ts';
import { anvilRecipe } from '../../dev/stack/recipes/anvil.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

export interface AnvilChoices {
  /** Seconds between blocks. Without it each transaction gets a block at once. */
  blockSeconds?: number;
  /** Additional arguments of anvil. */
  anvil?: string[];
}

const READY_TIMEOUT_MS = 30_000;

async function locateAnvil(): Promise<string> {
  const progress = createProgress({ write: (text) => process.stderr.write(text), isTerminal: false });
  const found = await locateProgram(anvilRecipe, { environment: processEnvironment(), progress });
  return found.path;
}

export async function launchAnvil(chainId: number, options: AnvilChoices = {}) {
  const program = await locateAnvil();
  const [port = 0] = await freePorts(1);
  const blocks = options.blockSeconds === undefined ? {} : { blockSeconds: options.blockSeconds };
  const args = [...anvilArguments({ port, chainId, ...blocks }), ...(options.anvil ?? [])];
  // anvil keeps caches in HOME, and makes no folder where it cannot write.
  const env = { PATH: processEnvironment().PATH, HOME: path.join(os.tmpdir(), 'farebox-test-no-home') };
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  const said: string[] = [];
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes.toString().slice(0, 2_000)));
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  child.once('exit', () => process.off('exit', killWithUs));
  const rpcUrl = `http://127.0.0.1:${port}`;
  await untilAnswers(rpcUrl, child).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw new Error(`anvil is not ready (${String(error)}): ${said.join('').slice(-1_000)}`);
  });
  return { rpcUrl, pid: child.pid ?? -1, stop: () => ended(child) };
}

async function untilAnswers(rpcUrl: string, child: ChildProcess): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
  const headers = { 'content-type': 'application/json' };
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(rpcUrl, { method: 'POST', headers, body }).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}`);
    if (Date.now() > deadline) throw new Error('no answer in time');
    await sleep(20);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await exit;
}
