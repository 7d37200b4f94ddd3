import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../infra/config/config.ts';
import { PROVIDERS } from '../../providers/registry.ts';

const PARTS = {
  DATABASE_URL: 'postgres://127.0.0.1/farebox',
  REDIS_URL: 'redis://127.0.0.1',
  S3_ENDPOINT: 'http://127.0.0.1',
  S3_BUCKET: 'farebox',
  S3_ACCESS_KEY_ID: 'farebox',
  S3_SECRET_ACCESS_KEY: 'farebox',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
};

const ADDRESS = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const PAYEE = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const RPC_URL = 'http://127.0.0.1:8545';

const DEMO = {
  x402: {
    networks: [
      {
        ...{ network: 'eip155:84532', asset: ADDRESS, payTo: PAYEE, rpcUrl: RPC_URL, confirmations: 0 },
        ...{ facilitatorUrl: 'http://127.0.0.1:4021', allowPrivateNetwork: true },
      },
    ],
  },
  rpc: { networks: { 'base-sepolia': { endpoints: [RPC_URL], allowPrivateNetwork: true } } },
};
const BASE = {
  ...{ network: 'eip155:8453', asset: ADDRESS, payTo: PAYEE, rpcUrl: 'https://base.example' },
  facilitatorUrl: 'https://facilitator.example',
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'farebox-demo-chain-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, content: object): string {
  const file = path.join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

function load(own: object, demo: object = DEMO) {
  const FAREBOX_CONFIG = written('own.json', own);
  return loadConfig(PROVIDERS, { ...PARTS, FAREBOX_CONFIG, FAREBOX_DEMO_CHAIN: written('demo.json', demo) });
}

const SEPOLIA = { ...BASE, network: 'eip155:11155111' };

test('puts the chains of the demonstration before those of the operator', () => {
  const nodes = { 'ethereum-mainnet': { endpoints: ['https://ethereum.example'] } };
  const { x402, rpc } = load({ x402: { networks: [SEPOLIA] }, rpc: { networks: nodes } });
  expect(x402.networks.map(({ network }) => network)).toEqual(['eip155:84532', SEPOLIA.network]);
  expect(x402.signInNetworks).toEqual(['eip155:84532', SEPOLIA.network]);
  expect(Object.keys(rpc.networks)).toEqual(['ethereum-mainnet', 'base-sepolia']);
});

test.each([
  ['a payment network', { x402: DEMO.x402 }, 'x402.networks: "eip155:84532" is in the configuration file already'],
  ['a real payment network', { x402: { networks: [BASE] } }, '"eip155:8453" takes real payments'],
  ['a chain node', { rpc: DEMO.rpc }, 'rpc.networks: "base-sepolia" is in the configuration file already'],
])('never replaces %s of the operator', (_, own, words) => {
  expect(() => load(own)).toThrow(words);
});

test('refuses a file that is missing or is not a configuration', () => {
  expect(() => load({}, { x402: { networks: [{}] } })).toThrow('x402.networks[0].network');
  expect(() => loadConfig(PROVIDERS, { ...PARTS, FAREBOX_DEMO_CHAIN: path.join(folder, 'none.json') })).toThrow(
    'cannot be read (ENOENT); FAREBOX_DEMO_CHAIN names a file',
  );
});
