/** Pictures, recordings and files in messages: a provider gets bytes that this process holds. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { png } from './pictures.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const PICTURE = png(64, 64).toString('base64');
const DOCX = readFileSync(new URL('../../fixtures/documents/Numbering.docx', import.meta.url));

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld();
});
afterAll(() => world.close());

const told = () => world.stub.received.at(-1)?.body as { messages: { content: unknown }[] } | undefined;
const ask = (part: object, more: object = {}) =>
  world.chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Look:' }, part] }], ...more });

it('passes on a picture unchanged', async () => {
  const url = `data:image/png;base64,${PICTURE}`;
  expect((await ask({ type: 'image_url', image_url: { url } })).status).toBe(200);
  expect(told()?.messages[0]?.content).toContainEqual({ type: 'image_url', image_url: { url } });
});

it.each(['auto', 'low', 'high'])('passes on the detail %s of a picture', async (detail) => {
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}`, detail } };
  expect((await ask(picture)).status).toBe(200);
  expect(told()?.messages[0]?.content).toContainEqual(picture);
});

it('refuses an unknown detail of a picture', async () => {
  const url = `data:image/png;base64,${PICTURE}`;
  expect((await ask({ type: 'image_url', image_url: { url, detail: 'huge' } })).status).toBe(400);
});

it('passes on the text of a document', async () => {
  const file_data = `data:application/octet-stream;base64,${DOCX.toString('base64')}`;
  expect((await ask({ type: 'file', file: { file_data, filename: 'a.docx' } })).status).toBe(200);
  expect(JSON.stringify(told()?.messages[0]?.content)).toContain('a.docx');
});

describe('parts that are refused without a call or a charge', () => {
  const inside = 'http://127.0.0.1:9/x';
  it.each([
    ['a picture inside the network', { type: 'image_url', image_url: { url: inside } }, 400],
    ['a file inside the network', { type: 'file', file: { file_data: inside } }, 400],
    ['a file of another scheme', { type: 'file', file: { file_data: 'file:///etc/passwd' } }, 400],
    ['what is no picture', { type: 'image_url', image_url: { url: 'data:image/png;base64,aGVsbG8=' } }, 400],
    ['what is no base64', { type: 'input_audio', input_audio: { data: 'https://example.com/a.wav' } }, 400],
    [
      'a locked document',
      { type: 'file', file: { file_data: `data:;base64,${Buffer.from('%PDF-1.4 no').toString('base64')}` } },
      400,
    ],
  ])('%s', async (_name, part, status) => {
    const before = world.stub.received.length;
    const response = await ask(part);
    const words = ((await response.json()) as { error: string }).error;
    expect([response.status, typeof words]).toEqual([status, 'string']);
    expect(words).not.toContain('127.0.0.1');
    expect(world.stub.received).toHaveLength(before);
    await world.settled();
  });

  it('a picture for a model without vision, which counts as an unsupported feature', async () => {
    const url = `data:image/png;base64,${PICTURE}`;
    const response = await ask({ type: 'image_url', image_url: { url } }, { model: 'gpt-plain' });
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      400,
      'gpt-plain does not support image input',
    ]);
  });
});

describe('a picture that is sent as a file', () => {
  const claims = ['image/png', 'application/octet-stream'];
  const part = (type: string) => ({ type: 'file', file: { file_data: `data:${type};base64,${PICTURE}` } });
  const SEEN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };

  it.each(claims)('claimed as %s is a picture for a model with vision', async (type) => {
    expect((await ask(part(type))).status).toBe(200);
    expect(told()?.messages[0]?.content).toContainEqual(SEEN);
  });

  it.each(claims)('claimed as %s is refused for a model without vision, like any picture', async (type) => {
    const before = world.stub.received.length;
    const [file, picture] = [await ask(part(type), { model: 'gpt-plain' }), await ask(SEEN, { model: 'gpt-plain' })];
    expect([file.status, await file.json()]).toEqual([picture.status, await picture.json()]);
    expect([file.status, world.stub.received.length]).toEqual([400, before]);
  });

  it('is sent to no fallback without vision', async () => {
    world.stub.next = [{ status: 500 }];
    const response = await ask(part('image/png'), {
      fallbacks: [{ model: 'gpt-plain' }, { model: 'gpt-second' }],
    });
    expect([response.status, response.headers.get('x-service-model-id')]).toEqual([200, 'gpt-second']);
  });
});
