/** `anon_user_id` has one rule and one name at the upstream on every image route. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endUserOf } from '../../../api/http/endUser.ts';
import { TIERED_EDIT } from './tieredEdit.ts';
import { CARD, type ImageWorld, openImageWorld, withStub } from './world.ts';

let world: ImageWorld;
beforeAll(async () => {
  world = await openImageWorld(withStub([TIERED_EDIT]));
});
afterAll(() => world.api.stop());

const base64 = CARD.toString('base64');
const edit = { prompt: 'warmer', modelId: TIERED_EDIT.id };

const JSON_ORDERS: [string, object][] = [
  ['/image/multi-edit', { ...edit, images: [base64] }],
  ['/image/edit', { ...edit, image: base64 }],
  ['/image/background-remove', { image: base64 }],
  ['/image/generate', { model: 'chroma', prompt: 'a tram' }],
];

const FORM_ORDERS: [string, string, Record<string, string>][] = [
  ['/image/multi-edit', 'images', edit],
  ['/image/edit', 'image', edit],
  ['/image/background-remove', 'image', {}],
];

function formOf(file: string, fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set(file, new Blob([CARD]), 'card.png');
  return form;
}

function lastEndUser(path: string): string | undefined {
  const { edits, cutouts, orders } = world.imageProvider;
  if (path === '/image/background-remove') return cutouts.at(-1)?.endUser;
  return path === '/image/generate' ? orders.at(-1)?.endUser : edits.at(-1)?.endUser;
}

/** Status of a whole answer, which was billed. */
async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer;
  await body?.pipeTo(new WritableStream());
  return status;
}

const MALFORMED = ['', 'a||b', 'x'.repeat(129), 'a\nb', 'ü'];
const LONGEST = `~ ${'|x'.repeat(63)}`;

describe.each(JSON_ORDERS)('POST %s as JSON', (path, order) => {
  it.each([...MALFORMED, 7, {}].map((id) => [JSON.stringify(id).slice(0, 20), id]))(
    'refuses the end user %s without a charge',
    async (_name, id) => {
      const before = await world.spent();
      const response = await world.post(path, { ...order, anon_user_id: id });
      const body = (await response.json()) as { details?: { anon_user_id?: { _errors: string[] } } };
      expect([response.status, body.details?.anon_user_id?._errors.length]).toEqual([400, 1]);
      expect(await world.spent()).toEqual(before);
    },
  );

  it('hands a name of 128 characters on as a hash, and null as none', async () => {
    for (const id of [LONGEST, null]) {
      expect(await statusOf(world.post(path, { ...order, anon_user_id: id }))).toBe(200);
      expect(lastEndUser(path)).toBe(endUserOf(world.accountId, id));
    }
  });
});

describe.each(FORM_ORDERS)('POST %s as a form', (path, file, fields) => {
  it.each(MALFORMED.map((id) => [JSON.stringify(id).slice(0, 20), id] as const))(
    'refuses the end user %s without a charge',
    async (_name, id) => {
      const before = await world.spent();
      const response = await world.send(path, formOf(file, { ...fields, anon_user_id: id }));
      expect([response.status, await response.json()]).toMatchObject([400, { details: { anon_user_id: {} } }]);
      expect(await world.spent()).toEqual(before);
    },
  );

  it('hands a name of 128 characters on as a hash', async () => {
    expect(await statusOf(world.send(path, formOf(file, { ...fields, anon_user_id: LONGEST })))).toBe(200);
    expect(lastEndUser(path)).toBe(endUserOf(world.accountId, LONGEST));
  });
});
