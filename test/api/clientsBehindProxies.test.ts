/** Limits of an address behind the operator's proxy. */
import http from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Config } from '../../infra/config/config.ts';
import { sendRaw } from './sendRaw.ts';
import { startApi, type TestApi } from './startApi.ts';

const PROXY = '127.0.0.10';
const MAX_CONNECTIONS = 5;

let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    connectionsPerAddress: MAX_CONNECTIONS,
    config: (config): Config => ({
      ...config,
      limits: { ...config.limits, perAddressPerMinute: 2, trustedProxies: [PROXY] },
    }),
  });
});
afterAll(() => api.stop());

/** Returns the statuses of `count` calls. Several values of `forwarded` are several header lines. */
async function asked(peer: string, forwarded: string | string[], count = 3): Promise<number[]> {
  const statuses: number[] = [];
  for (let turn = 0; turn < count; turn += 1) statuses.push(await ask(peer, forwarded));
  return statuses;
}

function ask(localAddress: string, forwarded: string | string[], agent: http.Agent | false = false): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Forwarded-For': forwarded };
    const url = `${api.baseUrl}/billing/usage`;
    const request = http.get(url, { localAddress, headers, agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', reject);
  });
}

it('counts two clients behind one trusted proxy separately', async () => {
  expect(await asked(PROXY, '198.51.100.1')).toEqual([410, 410, 429]);
  expect(await asked(PROXY, '198.51.100.2')).toEqual([410, 410, 429]);
});

it('does not let a client behind the proxy choose its address', async () => {
  expect(await asked(PROXY, '203.0.113.1, 198.51.100.3', 2)).toEqual([410, 410]);
  expect(await asked(PROXY, ['203.0.113.2', '198.51.100.3'], 1)).toEqual([429]);
});

it('does not let a client other than the trusted proxy choose its address', async () => {
  const peer = '127.0.0.11';
  expect(await asked(peer, '198.51.100.4', 1)).toEqual([410]);
  expect(await asked(peer, '198.51.100.5', 1)).toEqual([410]);
  expect(await asked(peer, '198.51.100.6', 1)).toEqual([429]);
  // The client did not use up the limit of a claimed address.
  expect(await asked(PROXY, '198.51.100.4')).toEqual([410, 410, 429]);
});

it.each([
  ['calls for unknown jobs', '/provider-callbacks/a/b/c', 404],
  ['keys of wallets', '/api_keys/generate_web3_key', 400],
])('applies the limit on %s before it requests the body', async (_name, path, allowed) => {
  const head =
    `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n` +
    'Content-Length: 2\r\n';
  for (const status of [allowed, allowed]) {
    expect(await sendRaw(api.port, `${head}\r\n{}`)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  }
  expect(await sendRaw(api.port, `${head}Expect: 100-continue\r\n\r\n`)).toMatch(/^HTTP\/1\.1 429 /);
});

it('allows a trusted proxy more connections than a client', async () => {
  const keptBy = async (peer: string) => {
    const agent = new http.Agent({ keepAlive: true });
    const calls = Array.from({ length: MAX_CONNECTIONS + 2 }, (_, index) =>
      ask(peer, `198.51.101.${index}`, agent).catch(() => 0),
    );
    const answered = await Promise.all(calls);
    agent.destroy();
    return answered.filter((status) => status > 0).length;
  };
  expect(await keptBy(PROXY)).toBe(MAX_CONNECTIONS + 2);
  expect(await keptBy('127.0.0.12')).toBe(MAX_CONNECTIONS);
});
