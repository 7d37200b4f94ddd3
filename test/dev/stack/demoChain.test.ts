/** `npm start -- --with-demo-chain` as a person runs it. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, createPublicClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { DemoChain } from '../../../dev/chain/demoChain.ts';
import { TEST_USD } from '../../../dev/chain/testUsd.ts';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import { stopOrphans } from '../../../dev/stack/runRecords.ts';
import { processEnvironment } from '../../../infra/config/environment.ts';
import { createWorld, services } from '../../harness/services.ts';
import { type Spawned, spawnNode } from '../../harness/spawn.ts';

interface DevFile {
  baseUrl: string;
  chain: DemoChain;
  processes: Record<string, number>;
}

let base: string;
let world: Record<string, string>;
let running: Spawned | undefined;

beforeAll(async () => {
  base = path.join(services().folder, 'demo chain');
  mkdirSync(base);
  // Uses the parts of the test run, because only the chain is tested here.
  ({ environment: world } = await createWorld());
});

afterEach(() => running?.stop());

afterAll(async () => {
  await stopOrphans(path.join(base, 'data'));
  rmSync(base, { recursive: true, force: true });
});

async function start(more: Record<string, string> = {}): Promise<Spawned> {
  const [port = 0] = await freePorts(1);
  const { XDG_CACHE_HOME } = processEnvironment();
  running = spawnNode({
    script: 'dist/cli/start.js',
    name: 'start',
    args: ['--with-demo-chain', '--no-demo'],
    environment: {
      ...world,
      PORT: String(port),
      FAREBOX_DATA: path.join(base, 'data'),
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
      ...more,
    },
    runFolder: services().runFolder,
  });
  return running;
}

async function untilSaid(spawned: Spawned, words: string): Promise<void> {
  const over = spawned.exit.then(() => 'over');
  const said = () => spawned.logs().includes(words);
  for (const deadline = Date.now() + 60_000; !said() && Date.now() < deadline; ) {
    if ((await Promise.race([sleep(50), over])) === 'over') break;
  }
  expect(spawned.logs()).toContain(words);
}

const devFile = () => JSON.parse(readFileSync(path.join(base, 'data', 'dev.json'), 'utf8')) as DevFile;

const client = ({ rpcUrl }: DemoChain) => createPublicClient({ transport: http(rpcUrl), cacheTime: 0 });

/** Runs examples/pay.mjs as a person does; returns its output. */
async function pay(): Promise<string> {
  const FAREBOX_DATA = path.join(base, 'data');
  const { runFolder } = services();
  const paying = spawnNode({
    script: 'examples/pay.mjs',
    name: 'pay',
    environment: { FAREBOX_DATA },
    runFolder,
  });
  expect(await paying.exit, paying.logs()).toEqual({ code: 0, signal: null });
  return paying.logs();
}

function purseOf(chain: DemoChain, owner: Address = chain.wallet.address): Promise<unknown> {
  const token = { address: chain.asset, abi: TEST_USD.abi };
  return client(chain).readContract({ ...token, functionName: 'balanceOf', args: [owner] });
}

test('starts a chain, a facilitator and a wallet with funds together with the service, and stops them with it', async () => {
  const started = await start();
  await untilSaid(started, 'Running. Ctrl-C');
  const { chain, processes, baseUrl } = devFile();
  expect(chain).toMatchObject({ chainId: 84532, network: 'eip155:84532' });
  expect(await client(chain).getChainId()).toBe(84532);
  expect(privateKeyToAccount(chain.wallet.privateKey).address).toBe(chain.wallet.address);
  expect(await purseOf(chain)).toBe(1_000_000_000n);
  expect(await client(chain).getBalance({ address: chain.wallet.address })).toBeGreaterThan(10n ** 18n);
  expect(started.logs()).toContain(chain.wallet.address);
  const supported = await fetch(`${chain.facilitatorUrl}/supported`);
  expect(await supported.json()).toMatchObject({ kinds: [{ scheme: 'exact', network: 'eip155:84532' }] });
  expect((await fetch(`${new URL(baseUrl).origin}/readyz`)).status).toBe(200);

  const said = await pay();
  expect(said).toContain('topped up      5 USD, now 5 ');
  expect(said.match(/; left: 4\.9/g)).toHaveLength(3);
  expect(await purseOf(chain)).toBe(995_000_000n);
  expect(await purseOf(chain, chain.payTo)).toBe(5_000_000n);

  started.kill('SIGINT');
  expect(await started.exit).toEqual({ code: 0, signal: null });
  expect(Object.keys(processes).sort()).toEqual(['api', 'chain', 'facilitator', 'worker']);
  for (const pid of Object.values(processes)) expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test("keeps the chain's state after the next start and after a crash", async () => {
  const started = await start();
  await untilSaid(started, 'Running. Ctrl-C');
  const { chain, processes } = devFile();
  expect(await client(chain).getBlockNumber()).toBeGreaterThanOrEqual(2n);
  // Written every five seconds.
  await expect.poll(() => existsSync(path.join(base, 'data/chain/state.json'))).toBe(true);
  process.kill(processes.chain ?? 0, 'SIGKILL');
  await untilSaid(started, 'chain runs again');
  expect(await purseOf(chain, chain.payTo)).toBe(5_000_000n);
  expect(await pay()).toContain('topped up      5 USD, now 9.99');
  expect(await purseOf(chain, chain.payTo)).toBe(10_000_000n);
  started.kill('SIGINT');
  expect((await started.exit).code).toBe(0);
});

test('refuses to start when the operator configured the same chain, and says so', async () => {
  const file = path.join(base, 'farebox.config.json');
  const [asset, payTo] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`];
  const network = {
    network: 'eip155:84532',
    asset,
    payTo,
    rpcUrl: 'https://sepolia.base.org',
  };
  writeFileSync(file, JSON.stringify({ x402: { networks: [{ ...network, facilitatorUrl: 'https://f.example' }] } }));
  const refused = await start({ FAREBOX_CONFIG: file });
  expect((await refused.exit).code).not.toBe(0);
  expect(refused.logs()).toContain('"eip155:84532" is in the configuration file already');
});
