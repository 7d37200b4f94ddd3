/** Entries that make synchronous media, and their choice among several upstream addresses. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { createImageWork } from '../../engines/images/imageWork.ts';
import type { ProviderMeans } from '../../providers/createProviders.ts';
import type { MediaProvider } from '../../providers/shared/mediaProvider.ts';
import { type OpenAiMediaStub, startOpenAiMediaStub } from '../stubs/openaiMedia.ts';
import { failureOf } from './chatRequest.ts';
import { openProviders } from './configured.ts';
import { heard, imageOrder, speechOrder } from './openai/media/callMedia.ts';

let one: OpenAiMediaStub;
let other: OpenAiMediaStub;
let folder: string;
let opened: Map<string, MediaProvider>;
let outcomes: string[];
beforeEach(async () => {
  [one, other] = await Promise.all([startOpenAiMediaStub(), startOpenAiMediaStub()]);
  folder = await mkdtemp(join(tmpdir(), 'farebox-media-'));
  opened = new Map();
  outcomes = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all([...opened.values()].map((each) => each.close?.()));
  await Promise.all([one.close(), other.close()]);
  await rm(folder, { recursive: true, force: true });
});

function open(providers: Record<string, ProviderSettings>, secrets: Record<string, string>) {
  const observe: ProviderMeans['observe'] = (entry, { call, outcome, address }) =>
    void outcomes.push(`${entry} ${address} ${call} ${outcome}`);
  opened = openProviders(providers, { secrets, folder, observe }).media(createImageWork());
  return opened;
}

const pair = (): ProviderSettings => ({
  ...{ kind: 'openai', allowPrivateNetwork: true, timeouts: { firstByteMs: 60_000 } },
  upstreams: [one, other].map(({ baseUrl }) => ({ baseUrl, apiKeyEnv: 'KEY' })),
});
const context = () => ({ workFolder: folder, signal: new AbortController().signal });
const calls = () => [one.received.length, other.received.length];

it('opens no media provider without its key', () => {
  const providers = { openai: { kind: 'openai' }, elevenlabs: { kind: 'elevenlabs' } } as const;
  expect([...open(providers, {}).keys()]).toEqual([]);
  expect([...open(providers, { OPENAI_API_KEY: 'x', ELEVENLABS_API_KEY: 'y' }).keys()]).toEqual([
    'openai',
    'elevenlabs',
  ]);
});

it('tries another address when the first one certainly made nothing', async () => {
  const media = open({ pair: pair() }, { KEY: 'stub-key' }).get('pair');
  one.next = [{ kind: 'reply', status: 503 }];
  for (let turn = 0; turn < 20; turn += 1) {
    const workFolder = await mkdtemp(join(folder, 'call-'));
    expect(await media?.makeImages?.(imageOrder(), { ...context(), workFolder })).toHaveLength(1);
  }
  expect(calls().reduce((sum, count) => sum + count, 0)).toBe(21);
});

it('never sends a second request when the first one may have made something', async () => {
  const media = open({ pair: pair() }, { KEY: 'stub-key' }).get('pair');
  for (const stub of [one, other]) stub.next.push({ kind: 'accept-then-destroy' });
  expect(await failureOf(Promise.resolve(media?.makeImages?.(imageOrder(), context())))).toMatchObject({
    reason: 'lost',
  });
  expect(calls().reduce((sum, count) => sum + count, 0)).toBe(1);
});

it('stops using an address whose speech streams break repeatedly', async () => {
  // The clock stands still, because the address is unused for less than a second.
  vi.useFakeTimers({ toFake: ['performance'] });
  const media = open({ pair: pair() }, { KEY: 'stub-key' }).get('pair');
  one.next = Array.from({ length: 40 }, () => ({ kind: 'cut-body' as const }));
  for (let turn = 0; turn < 40 && one.received.length < 5; turn += 1) {
    const speech = await media?.speak?.(speechOrder(), context());
    if (speech !== undefined) await heard(speech).catch(() => undefined);
  }
  const asked = one.received.length;
  const speeches = Array.from({ length: 5 }, () => media?.speak?.(speechOrder(), context()));
  for (const speech of await Promise.all(speeches)) if (speech !== undefined) await heard(speech);
  expect([asked, one.received.length]).toEqual([5, 5]);
});

it('offers the operations of its service and reports how each attempt ended', async () => {
  const { host } = new URL(one.baseUrl);
  const settings = {
    kind: 'openai',
    baseUrl: one.baseUrl,
    allowPrivateNetwork: true,
    apiKeyEnv: 'KEY',
  } as const;
  const media = open(
    { one: settings, elevenlabs: { kind: 'elevenlabs' } },
    { KEY: 'stub-key', ELEVENLABS_API_KEY: 'x' },
  );
  const offered = (entry: string) => Object.keys(media.get(entry) ?? {}).sort();
  expect(offered('one')).toEqual(['close', 'editImage', 'makeImages', 'speak', 'transcribe']);
  expect(offered('elevenlabs')).toEqual(['cloneVoice', 'close', 'speak', 'transcribe']);
  const speech = await media.get('one')?.speak?.(speechOrder(), context());
  expect(outcomes).toEqual([]);
  if (speech !== undefined) await heard(speech);
  one.next = [{ kind: 'reply', status: 401 }];
  await failureOf(Promise.resolve(media.get('one')?.speak?.(speechOrder(), context())));
  expect(outcomes).toEqual([`one ${host} KEY speak done`, `one ${host} KEY speak credential`]);
});

it('pauses the only address of a service too', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const settings = { kind: 'elevenlabs', baseUrl: one.baseUrl, allowPrivateNetwork: true } as const;
  const media = open({ voices: settings }, { ELEVENLABS_API_KEY: 'x' }).get('voices');
  one.next = Array.from({ length: 5 }, () => ({ kind: 'reply' as const, status: 500 }));
  const ask = () => failureOf(Promise.resolve(media?.speak?.(speechOrder({ voice: 'Aria' }), context())));
  for (let turn = 0; turn < 5; turn += 1) expect(await ask()).toMatchObject({ reason: 'failed' });
  expect(await ask()).toMatchObject({ reason: 'overloaded', retryAfterMs: expect.any(Number) });
  expect(one.received).toHaveLength(5);
});
