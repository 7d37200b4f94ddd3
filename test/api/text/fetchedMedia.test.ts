/** The media that this process fetches and holds are limited, however many and however often a request names them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMediaBudget } from '../../../infra/byteBudget.ts';
import { type HostileServer, hostileServer } from '../../infra/http/hostileServer.ts';
import { png } from './pictures.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const PICTURE = png(64, 64);
/** A picture with unused bytes behind its end. */
const LARGE = Buffer.concat([PICTURE, Buffer.alloc(24 * 1024 * 1024)]);
const LETTERS = 'Words for the count. '.repeat(90_000);

let world: TextWorld;
let site: HostileServer;
/** Functions that each complete a delayed response. */
const late: (() => void)[] = [];

beforeAll(async () => {
  const send = (bytes: Buffer | string) => (_: unknown, response: { end(sent: Buffer | string): void }) =>
    response.end(bytes);
  site = await hostileServer({
    ...{
      '/picture': send(PICTURE),
      '/large': send(LARGE),
      '/none': send('hello'),
      '/letters': send(LETTERS),
      '/slow': (_, response) => {
        late.push(() => response.end(PICTURE));
      },
    },
  });
  const allowPrivateHosts = [`127.0.0.1:${site.port}`];
  world = await startTextWorld((config) => ({ ...config, fetch: { allowPrivateHosts } }));
});
beforeEach(() => {
  site.requests.length = 0;
  world.stub.received.length = 0;
});
afterAll(async () => {
  await world.close();
  await site.close();
});

const at = (path: string) => `http://127.0.0.1:${site.port}${path}`;
const picture = (path: string) => ({ type: 'image_url', image_url: { url: at(path) } });
const letters = (index: number) => ({ type: 'file', file: { file_data: at(`/letters?${index}`) } });
const says = (...content: object[]) => ({ role: 'user', content });
const several = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const shown = () => JSON.stringify(world.stub.received.at(-1)?.body).split(PICTURE.toString('base64')).length - 1;

async function refusal(messages: object[]): Promise<unknown> {
  const response = await world.chat({ messages });
  const { details } = (await response.json()) as { details?: { messages?: { _errors?: string[] } } };
  expect([response.status, world.stub.received.length]).toEqual([400, 0]);
  return JSON.stringify(details);
}

describe('a request', () => {
  it('that repeats a picture has it fetched once', async () => {
    const messages = several(30, () => says(...several(10, () => picture('/picture'))));
    expect((await world.chat({ messages })).status).toBe(200);
    expect([site.requests.map(({ url }) => url), shown()]).toEqual([['/picture'], 300]);
  });

  it('has forty different media fetched, and for one more nothing at all', async () => {
    const messages = (count: number) => several(count, (index) => says(picture(`/picture?${index}`)));
    expect((await world.chat({ messages: messages(40) })).status).toBe(200);
    expect([site.requests.length, shown()]).toEqual([40, 40]);
    site.requests.length = 0;
    world.stub.received.length = 0;
    expect(await refusal(messages(41))).toContain('at most 40 media to be fetched in a request');
    expect(site.requests).toHaveLength(0);
  });

  it('sends a provider at most 100 MB, however often the media were fetched', async () => {
    const messages = [says(...several(5, () => picture('/large')))];
    expect(await refusal(messages)).toContain('at most 100 MB of media in a request');
    expect(site.requests).toHaveLength(1);
  });

  it('has the texts of its documents counted as well', async () => {
    const messages = [...several(4, () => says(picture('/large'))), ...several(2, (index) => says(letters(index)))];
    expect(await refusal(messages)).toContain('at most 100 MB of media in a request');
  });
});

describe('a process with its maximum of held media', () => {
  const one = () => ({ messages: [says(picture('/picture'))] });
  const open = (bytes: number) => {
    world.api.opened.dependencies.limits.mediaBudget = createMediaBudget({
      maxBytes: bytes,
      maxAccountBytes: 2 ** 30,
    });
  };

  beforeEach(() => open(PICTURE.length));

  it.each([false, true])('refuses a call while another is answered (stream: %s)', async (stream) => {
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const held = stream ? { pause: () => finished } : { delay: finished };
    world.stub.next = [{ tokens: ['Hel', 'lo'], ...held }];
    const first = world.chat({ ...one(), stream });
    await vi.waitFor(() => expect(world.stub.received).toHaveLength(1), { timeout: 180_000 });
    const second = await world.chat(one());
    expect([second.status, second.headers.get('retry-after'), await second.json()]).toEqual([
      503,
      '5',
      { error: 'Too many media are being passed on at the moment; try again in 5 seconds' },
    ]);
    expect(world.stub.received).toHaveLength(1);
    finish();
    expect([(await first).status, await (await first).text()]).toEqual([200, expect.stringContaining('lo')]);
    await world.settled();
    expect((await world.chat(one())).status).toBe(200);
  });

  it('still accepts calls without media', async () => {
    open(0);
    expect((await world.chat(one())).status).toBe(503);
    expect((await world.chat({})).status).toBe(200);
  });

  it('releases the memory of a call that failed at any step', async () => {
    expect((await world.chat({ messages: [says(picture('/none'))] })).status).toBe(400);
    expect((await world.chat({ ...one(), model: 'gpt-plain' })).status).toBe(400);
    world.stub.next = [{ status: 500 }];
    expect((await world.chat(one())).status).toBe(500);
    expect((await world.chat(one(), { headers: { 'x-service-dry-run': 'true' } })).status).toBe(200);
    const { secret: poor } = await world.api.newKey('INFERENCE');
    expect((await world.chat(one(), { key: poor })).status).toBe(402);
    expect((await world.chat(one())).status).toBe(200);
  });

  it('releases the memory of a stream whose client disconnected', async () => {
    world.stub.next = [{ tokens: several(50, () => 'word '), pauseMs: 50 }];
    const client = new AbortController();
    const response = await world.chat({ ...one(), stream: true }, { signal: client.signal });
    expect(response.status).toBe(200);
    client.abort();
    await vi.waitFor(async () => expect((await world.chat(one())).status).toBe(200), { timeout: 180_000 });
  });
});

it('refuses an account whose media fill its share of the memory, and passes on those of another', async () => {
  world.api.opened.dependencies.limits.mediaBudget = createMediaBudget({
    ...{ maxBytes: 4 * PICTURE.length, maxAccountBytes: 2 * PICTURE.length },
  });
  const { mediaBudget, calls: limits } = world.api.opened.dependencies.limits;
  const first = world.chat({ messages: [says(picture('/picture'), picture('/slow'))] });
  await vi.waitFor(() => expect([mediaBudget.reservedBytes, late.length]).toEqual([PICTURE.length, 1]), {
    timeout: 180_000,
  });
  const two = { messages: [says(picture('/picture?1'), picture('/picture?2'))] };
  const refused = await world.chat(two);
  expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
    429,
    '5',
    expect.objectContaining({
      error: `Rate limit exceeded: at most ${2 * PICTURE.length} bytes of fetched media in memory at a time for this account.`,
    }),
  ]);
  await vi.waitFor(async () =>
    expect(await limits.limiter.refusals(world.accountId)).toContainEqual(
      expect.objectContaining({ rateLimitType: 'FETCHED_BYTES', modelId: 'gpt-stub' }),
    ),
  );
  const { secret: other } = await world.api.fundedKey('INFERENCE');
  expect((await world.chat(two, { key: other })).status).toBe(200);
  for (const answer of late) answer();
  expect((await first).status).toBe(200);
  await vi.waitFor(() => expect(mediaBudget.reservedBytes).toBe(0));
});
