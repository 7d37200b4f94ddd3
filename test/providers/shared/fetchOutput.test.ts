import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createServiceHttp } from '../../../infra/http/serviceHttp.ts';
import { fetchOutput } from '../../../providers/shared/fetchOutput.ts';

/** Two hosts: the service, and another host that it names for its outputs. */
let service: Server;
let store: Server;
let folder: string;
let serial = 0;
const credentials: (string | undefined)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-outputs-'));
  service = await listen();
  store = await listen();
});

afterAll(async () => {
  service.close();
  store.close();
  await rm(folder, { recursive: true });
});

function listen(): Promise<Server> {
  const server = createServer((request, response) => {
    credentials.push(request.headers.authorization);
    const status = Number(/status=(\d+)/.exec(request.url ?? '')?.[1] ?? 200);
    response.writeHead(status, { 'content-type': 'Video/MP4; codecs=avc1' }).end('0123456789');
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetched(url: string, { maxBytes = 100, allowStore = true } = {}) {
  const baseUrl = addressOf(service);
  const http = createServiceHttp({
    baseUrl,
    allowPrivateNetwork: true,
    headers: { authorization: 'Key secret' },
  });
  const allowPrivateHosts = allowStore ? [new URL(addressOf(store)).host] : [];
  const guardedFetch = createGuardedFetch({ allowPrivateHosts, failureFloorMs: 1 });
  serial += 1;
  const path = join(folder, `output-${serial}`);
  const context = { workFolder: folder, signal: AbortSignal.timeout(100_000), heartbeat: () => undefined };
  credentials.length = 0;
  const target = { path, maxBytes, timeoutMs: 60_000 };
  const outcome = await fetchOutput({ http, baseUrl, guardedFetch }, url, { target, context });
  return { outcome, path };
}

describe('an output that a service names by its URL', () => {
  it('is fetched from the service itself with the credential', async () => {
    const { outcome, path } = await fetched(`${addressOf(service)}/files/1?part=a`);
    expect(outcome).toEqual({ ok: true, contentType: 'video/mp4' });
    expect(await readFile(path, 'utf8')).toBe('0123456789');
    expect(credentials).toEqual(['Key secret']);
  });

  it('is fetched from any other host without the credential', async () => {
    const { outcome } = await fetched(`${addressOf(store)}/files/1`);
    expect(outcome).toEqual({ ok: true, contentType: 'video/mp4' });
    expect(credentials).toEqual([undefined]);
  });

  it.each([
    ['on a private network', () => 'http://10.0.0.1/output.mp4'],
    ['on this machine', () => `${addressOf(store)}/output.mp4`],
    ['of another scheme', () => 'file:///etc/passwd'],
    ['with a password', () => 'https://user:secret@example.com/output.mp4'],
    ['that is no address', () => 'output.mp4'],
  ])('is never fetched from a URL %s, now or later', async (_, url) => {
    const { outcome } = await fetched(url(), { allowStore: false });
    expect(outcome).toMatchObject({ ok: false, outcome: { status: 'refused', reason: 'failed' } });
    expect(credentials).toEqual([]);
  });

  it.each([
    ['the service fails', () => `${addressOf(service)}/?status=503`],
    ['the other host fails', () => `${addressOf(store)}/?status=503`],
  ])('is fetched again later when %s', async (_, url) => {
    const { outcome } = await fetched(url());
    expect(outcome).toMatchObject({ ok: false, outcome: { status: 'unknown' } });
  });

  it.each([
    ['it is too large at the service', () => `${addressOf(service)}/`, 9],
    ['it is too large elsewhere', () => `${addressOf(store)}/`, 9],
    ['the service has it no more', () => `${addressOf(service)}/?status=404`, 100],
  ])('fails permanently when %s', async (_, url, maxBytes) => {
    const { outcome } = await fetched(url(), { maxBytes });
    expect(outcome).toMatchObject({ ok: false, outcome: { status: 'refused', reason: 'failed' } });
  });
});
