import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as chains from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Config, loadConfig } from '../../infra/config/config.ts';
import { isTestNetwork } from '../../infra/config/testNetworks.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { COMPLETE, messageOf } from './environments.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'farebox payments '));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const US = `0x${'cafe'.repeat(10)}`;
const BASE = {
  network: 'eip155:8453',
  asset: USDC,
  payTo: US,
  rpcUrls: ['https://one.example', 'https://two.example'],
  facilitatorUrl: 'https://f.example',
};
const SOLANA = {
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  payTo: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T',
  rpcUrls: ['https://s.example'],
  feePayerKeyEnv: 'SOLANA_KEY',
};
const KEYS = { SOLANA_KEY: JSON.stringify([...Array(64).keys()]), BASE_KEY: '0x'.padEnd(66, '7') };

function isForTests(chain: object): boolean {
  return 'testnet' in chain && chain.testnet === true;
}

let files = 0;
function load(networks: unknown[], variables: Record<string, string> = KEYS): Config {
  files += 1;
  const file = path.join(folder, `${files}.json`);
  writeFileSync(file, JSON.stringify({ x402: { networks } }));
  return loadConfig(PROVIDERS, { ...COMPLETE, ...variables, FAREBOX_CONFIG: file });
}

test('networks that fit together are taken, addresses in one spelling', () => {
  const { networks } = load([BASE, SOLANA]).x402;
  expect(networks.map(({ network, family, confirmations }) => [network, family, confirmations])).toEqual([
    ['eip155:8453', 'evm', 12],
    [SOLANA.network, 'solana', 32],
  ]);
  const polygon = load([{ ...BASE, network: 'eip155:137' }]).x402.networks[0];
  expect(polygon).toMatchObject({ confirmations: 192, feeBudgetPerDay: 50 });
  const own = { ...BASE, network: 'eip155:137', confirmations: 5, feeBudgetPerDay: 0.5 };
  expect(load([own]).x402.networks[0]).toMatchObject({ confirmations: 5, feeBudgetPerDay: 0.5 });
  expect(networks[0]).toMatchObject({ asset: USDC.toLowerCase(), payTo: US, allowPrivateNetwork: false });
});

const { facilitatorUrl: _, ...WITHOUT_SETTLING } = BASE;
const { rpcUrls: __, ...WITHOUT_NODES } = BASE;

const REFUSED: [string, Record<string, unknown>, string][] = [
  ['an empty network', { ...BASE, network: '' }, 'network: found ""'],
  ['an unknown family', { ...BASE, network: 'cosmos:hub' }, 'network: found "cosmos:hub"'],
  ['chain id 0', { ...BASE, network: 'eip155:0' }, 'network: found "eip155:0"'],
  ['chain id with a leading zero', { ...BASE, network: 'eip155:08453' }, 'network: found'],
  ['a short Solana genesis hash', { ...SOLANA, network: 'solana:mainnet' }, 'network: found'],
  ['no token', { ...BASE, asset: undefined }, 'asset: found nothing'],
  ['an empty token', { ...BASE, asset: '' }, 'asset: found ""'],
  ['token zero', { ...BASE, asset: `0x${'0'.repeat(40)}` }, 'asset: found'],
  ['a short token', { ...BASE, asset: USDC.slice(0, -1) }, 'asset: found'],
  ['a token whose checksum is wrong', { ...BASE, asset: USDC.replace('fCD6', 'FCD6') }, 'asset: found'],
  ['a Solana mint on Base', { ...BASE, asset: SOLANA.asset }, 'asset: found'],
  ['an empty name of the token', { ...BASE, assetName: '' }, 'assetName: found ""'],
  ['an empty version of the token', { ...BASE, assetVersion: '' }, 'assetVersion: found ""'],
  ['no recipient', { ...BASE, payTo: undefined }, 'payTo: found nothing'],
  ['an empty recipient', { ...BASE, payTo: '' }, 'payTo: found ""'],
  ['recipient zero', { ...BASE, payTo: `0x${'0'.repeat(40)}` }, 'payTo: found'],
  ['a recipient whose checksum is wrong', { ...BASE, payTo: USDC.replace('fCD6', 'FCD6') }, 'payTo: found'],
  ['a Solana recipient on Base', { ...BASE, payTo: SOLANA.payTo }, 'payTo: found'],
  ['a Base recipient on Solana', { ...SOLANA, payTo: US }, 'payTo: found'],
  ['a Solana recipient of 31 bytes', { ...SOLANA, payTo: SOLANA.payTo.slice(0, -2) }, 'payTo: found'],
  ["Solana's system program as the recipient", { ...SOLANA, payTo: '1'.repeat(32) }, 'payTo: found'],
  ['the token as the recipient', { ...BASE, payTo: USDC.toLowerCase() }, 'payTo: found the address of the'],
  ['no node', WITHOUT_NODES, 'rpcUrls: found nothing'],
  ['an empty list of nodes', { ...BASE, rpcUrls: [] }, 'rpcUrls: found a list of 0'],
  ['an empty node', { ...BASE, rpcUrls: [''] }, 'rpcUrls[0]: found'],
  ['both ways to name nodes', { ...BASE, rpcUrl: 'https://one.example' }, 'either "rpcUrl" or "rpcUrls"'],
  [
    'one node twice',
    { ...BASE, rpcUrls: ['https://one.example', 'https://ONE.example/'] },
    'rpcUrls[1]: found the address of a node that is listed already',
  ],
  [
    'a place for a key and no name of one',
    { ...BASE, rpcUrls: ['https://one.example/{key}'] },
    'rpcUrls[0]: found a URL with {key} and no apiKeyEnv',
  ],
  [
    'the name of a key and no place for it',
    { ...BASE, rpcUrls: [{ url: 'https://one.example', apiKeyEnv: 'NODE_KEY' }] },
    'rpcUrls[0]: found a URL without {key} beside apiKeyEnv',
  ],
  ['nobody who settles', WITHOUT_SETTLING, 'x402.networks[0]: found neither'],
  ['two who settle', { ...BASE, feePayerKeyEnv: 'BASE_KEY' }, 'x402.networks[0]: found both'],
  ['an empty facilitator', { ...BASE, facilitatorUrl: '' }, 'facilitatorUrl: found'],
  ['an empty name of a key', { ...WITHOUT_SETTLING, feePayerKeyEnv: '' }, 'feePayerKeyEnv: found'],
  [
    'a key itself instead of its name',
    { ...WITHOUT_SETTLING, feePayerKeyEnv: KEYS.BASE_KEY },
    'feePayerKeyEnv: found text of 66 characters (not shown)',
  ],
  ['a private node', { ...BASE, rpcUrls: ['http://10.0.0.7:8545'] }, 'rpcUrls[0]: found an address on a'],
  ['a private node by name', { ...BASE, rpcUrls: ['http://node.internal'] }, 'rpcUrls[0]: found an address'],
  ['a private facilitator', { ...BASE, facilitatorUrl: 'http://192.168.1.4' }, 'facilitatorUrl: found an'],
  [
    'this machine where private networks are forbidden',
    { ...BASE, rpcUrls: ['http://127.0.0.1:8545'], allowPrivateNetwork: false },
    'rpcUrls[0]: found an address on a private network',
  ],
  ['no confirmations on a real chain', { ...BASE, confirmations: 0 }, 'confirmations: found 0'],
  ['a negative count of confirmations', { ...BASE, confirmations: -1 }, 'confirmations: found -1'],
];

describe('a node with a key in its URL', () => {
  const KEYED = {
    ...BASE,
    rpcUrls: ['https://one.example', { url: 'https://two.example/v2/{key}', apiKeyEnv: 'NODE_KEY' }],
  };

  test('takes the key from the environment, like the nodes of POST /crypto/rpc', () => {
    const { networks } = load([KEYED], { ...KEYS, NODE_KEY: 'a/secret' }).x402;
    expect(networks[0]?.rpcUrls).toEqual(['https://one.example', 'https://two.example/v2/a%2Fsecret']);
  });

  test('is refused at the start without that variable', () => {
    expect(messageOf(() => load([KEYED]))).toContain('NODE_KEY is not set');
  });
});

describe('payment networks that are refused at the start', () => {
  test.each(REFUSED)('%s', (_name, entry, words) => {
    expect(messageOf(() => load([entry]))).toContain(words);
  });

  test('include a network given twice', () => {
    const message = messageOf(() => load([BASE, { ...BASE, payTo: `0x${'beef'.repeat(10)}` }]));
    expect(message).toContain('x402.networks[1].network: found "eip155:8453", which x402.networks[0] has');
  });

  test('include every test network of viem beside a real one, and none of its real networks', () => {
    const known = Object.values(chains).filter(({ id }) => id !== 1_337 && id !== 31_337);
    const real = new Set(known.filter((chain) => !isForTests(chain)).map(({ id }) => id));
    const wanted = known.filter((chain) => isForTests(chain) && !real.has(chain.id)).map(({ id }) => id);
    expect(wanted.length).toBeGreaterThan(300);
    expect(wanted.filter((id) => !isTestNetwork(`eip155:${id}`))).toEqual([]);
    expect([...real].filter((id) => isTestNetwork(`eip155:${id}`))).toEqual([]);
  });

  test.each(['eip155:84532', 'eip155:421614', 'eip155:44787', 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'])(
    'the test network %s beside a real one',
    (network) => {
      const test = network.startsWith('solana') ? { ...SOLANA, network } : { ...BASE, network };
      const message = messageOf(() => load([BASE, test]));
      expect(message).toContain(`x402.networks[1].network: found the test network "${network}" beside "eip155:8453"`);
      expect(load([test]).x402.networks).toHaveLength(1);
    },
  );

  const OWN = { ...WITHOUT_SETTLING, feePayerKeyEnv: 'BASE_KEY' };
  const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';
  const BAD_KEYS: [string, typeof BASE | typeof SOLANA | typeof OWN, Record<string, string>][] = [
    ['an unset key', OWN, {}],
    ['an empty key', OWN, { BASE_KEY: '' }],
    ['a key of spaces', OWN, { BASE_KEY: '   ' }],
    ['a short key', OWN, { BASE_KEY: '0x1234' }],
    ['key zero', OWN, { BASE_KEY: '0'.repeat(64) }],
    ['a key beyond the curve', OWN, { BASE_KEY: ORDER }],
    ['words', OWN, { BASE_KEY: 'test test test test test test test test test test test junk' }],
    ['an unset Solana key', SOLANA, {}],
    ['an empty Solana key', SOLANA, { SOLANA_KEY: '' }],
    ['half a Solana key', SOLANA, { SOLANA_KEY: SOLANA.payTo }],
    ['a list of 63 bytes', SOLANA, { SOLANA_KEY: JSON.stringify([...Array(63).keys()]) }],
    ['a list with 256 in it', SOLANA, { SOLANA_KEY: JSON.stringify([...Array(63).keys(), 256]) }],
  ];

  test.each(BAD_KEYS)('%s: names the variable, not its value', (_name, entry, variables) => {
    const message = messageOf(() => load([entry], variables));
    expect(message).toMatch(/environment: (BASE|SOLANA)_KEY (is not set|holds no such key); allowed: /);
    for (const value of Object.values(variables)) {
      if (value.trim()) expect(message).not.toContain(value);
    }
  });
});

describe('private networks', () => {
  const LOCAL = { ...BASE, rpcUrl: 'http://127.0.0.1:8546', rpcUrls: undefined };

  test('need no permission for an explicit loopback address', () => {
    const { networks } = load([{ ...LOCAL, facilitatorUrl: 'http://localhost:4021', confirmations: 0 }]).x402;
    expect(networks[0]).toMatchObject({ allowPrivateNetwork: true, confirmations: 0 });
  });

  test('need permission for any other private address', () => {
    const entry = { ...BASE, rpcUrls: ['http://10.0.0.7:8545'], confirmations: 0, allowPrivateNetwork: true };
    expect(load([entry]).x402.networks[0]).toMatchObject({ allowPrivateNetwork: true });
  });
});
