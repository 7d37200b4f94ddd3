import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../infra/config/config.ts';
import { loadCharacters } from '../../../infra/postgres/characters.ts';
import { PROVIDERS } from '../../../providers/registry.ts';
import { COMPLETE, messageOf } from '../../config/environments.ts';
import { createWorld } from '../../harness/services.ts';
import { startApi, type TestApi } from '../startApi.ts';

const SECRET = 'the-prompt-that-nobody-sees';

interface Stats {
  imports?: number;
  ratingCount?: number;
  ratingSum?: number;
}

function character(slug: string, day: number, stats: Stats, more: object = {}): Record<string, unknown> {
  return {
    ...{ slug, name: slug, modelId: 'kimi-k3', systemPrompt: `${SECRET} ${slug}`, stats, ...more },
    createdAt: `2026-03-${String(day).padStart(2, '0')}T10:00:00Z`,
  };
}

/** Average ratings: ace 5 of one, bee 4 of two, cat 3 of ten, dog 2 of four, elk and the others none. */
const CHARACTERS = [
  character('ace', 1, { imports: 50, ratingCount: 1, ratingSum: 5 }, { featured: true, tags: ['Chess', 'fun'] }),
  character('bee', 2, { imports: 40, ratingCount: 2, ratingSum: 8 }, { categories: ['Garden'], webEnabled: true }),
  character('cat', 3, { imports: 30, ratingCount: 10, ratingSum: 30 }, { featured: true, tags: ['chess club'] }),
  character('dog', 4, { imports: 20, ratingCount: 4, ratingSum: 8 }, { pro: true, modelId: 'llama-3.3-70b' }),
  character('elk', 5, { imports: 10 }, { description: 'Is 100% sure. Likes snake_case and C:\\path.', tags: ['fun'] }),
  character('fox', 6, { imports: 9 }, { name: 'Fox and snakeXcase', description: 'Is 100 times sure; plays chess.' }),
  character('gnu', 7, { imports: 99 }, { adult: true, tags: ['fun'] }),
];
const DEFAULT = 'ace bee cat dog elk fox';

let folder: string;
let api: TestApi;
let key: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'farebox-characters-'));
  await writeFile(path.join(folder, 'characters.json'), JSON.stringify(CHARACTERS));
  const config = path.join(folder, 'farebox.config.json');
  await writeFile(config, JSON.stringify({ catalogue: { charactersFile: './characters.json' } }));
  const { environment } = await createWorld();
  api = await startApi({ environment: { ...environment, FAREBOX_CONFIG: config } });
  key = (await api.newKey('INFERENCE')).secret;
});
afterAll(async () => {
  await api.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Listed {
  slug: string;
  id: string;
}

async function slugs(query: string): Promise<string> {
  const response = await api.call(`/characters${query}`, { key });
  const text = await response.text();
  expect([query, response.status, text.includes(SECRET)]).toEqual([query, 200, false]);
  return (JSON.parse(text) as { data: Listed[] }).data.map(({ slug }) => slug).join(' ');
}

describe('GET /characters', () => {
  it('shows exactly the published fields', async () => {
    const response = await api.call('/characters?limit=1', { key });
    expect(await response.json()).toEqual({
      object: 'list',
      data: [
        {
          ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), slug: 'ace', name: 'ace', description: null },
          ...{ author: 'staff', adult: false, featured: true, webEnabled: false, modelId: 'kimi-k3' },
          ...{ tags: ['Chess', 'fun'], shareUrl: null, photoUrl: null },
          ...{ createdAt: '2026-03-01T10:00:00.000Z', updatedAt: '2026-03-01T10:00:00.000Z' },
          stats: { averageRating: 5, imports: 50, ratingCount: 1, ratingSum: 5, userRating: null },
        },
      ],
    });
  });

  it.each([
    ['', DEFAULT],
    ['?isAdult=false', DEFAULT],
    ['?isAdult=true', 'gnu'],
    ['?isPro=true', 'dog'],
    ['?isPro=false', 'ace bee cat elk fox'],
    ['?isWebEnabled=true', 'bee'],
    ['?isWebEnabled=false', 'ace cat dog elk fox'],
    ['?categories=Garden', 'bee'],
    ['?categories=garden,other', 'bee'],
    ['?categories=', DEFAULT],
    ['?tags=fun', 'ace elk'],
    ['?tags=FUN&tags=chess%20club', 'ace cat elk'],
    ['?tags=nothing,chess', 'ace'],
    ['?tags=f%25', ''],
    ['?modelId=llama-3.3-70b', 'dog'],
    ['?modelId=llama-3.3-70b,kimi-k3', DEFAULT],
    ['?modelId=llama', ''],
    ['?tags=fun&isWebEnabled=true', ''],
    ['?limit=2', 'ace bee'],
    ['?limit=2&offset=2', 'cat dog'],
    ['?offset=', DEFAULT],
    ['?offset=0', DEFAULT],
    ['?offset=999999999999999', ''],
    ['?limit=100', DEFAULT],
    ['?sortBy=imports', DEFAULT],
    ['?sortBy=imports&sortOrder=asc', 'fox elk dog cat bee ace'],
    ['?sortBy=imports&sortOrder=desc', DEFAULT],
    ['?sortOrder=asc', DEFAULT],
    ['?sortBy=featured', 'ace cat'],
    ['?sortBy=highestRating', 'ace bee cat dog elk fox'],
    ['?sortBy=highestRating&sortOrder=asc', 'elk fox dog cat bee ace'],
    ['?sortBy=highlyRated', 'bee cat dog'],
    ['?sortBy=highlyRatedAndRecent', 'cat bee ace'],
    ['?sortBy=mostRecent', 'fox elk dog cat bee ace'],
    ['?sortBy=mostRecent&sortOrder=asc', 'ace bee cat dog elk fox'],
    ['?sortBy=ratingCount', 'cat dog bee ace elk fox'],
    ['?search=elk', 'elk'],
    ['?search=ELK', 'elk'],
    ['?search=chess', 'ace cat fox'],
    ['?search=sure%20plays', 'fox'],
    ['?search=plays%20sure', 'fox'],
    ['?search=hess', 'ace cat fox'],
    ['?search=%23chess', 'ace'],
    ['?search=%23CHESS', 'ace'],
    ['?search=%23fun%20%23chess', 'ace'],
    ['?search=%23fun%20likes', 'elk'],
    ['?search=%23hess', ''],
    ['?search=%23', ''],
    ['?search=%25', 'elk'],
    ['?search=100%25', 'elk'],
    ['?search=_', 'elk'],
    ['?search=snake_case', 'elk'],
    ['?search=%5C', 'elk'],
    ['?search=c:%5Cpath', 'elk'],
    ["?search=' or 1=1 --", ''],
    ['?search=a|b%20%26%20!c:*', ''],
    ['?search=%20%20', DEFAULT],
    [`?search=${SECRET}`, ''],
    ['?search=prompt', ''],
    [`?search=${'x'.repeat(200)}`, ''],
    [`?tags=${'x'.repeat(100)}`, ''],
    [`?modelId=${'x'.repeat(200)}`, ''],
    [`?tags=${Array.from({ length: 20 }, (_, index) => `t${index}`).join(',')}`, ''],
  ])('%.80s: %s', async (query, expected) => {
    expect(await slugs(query)).toBe(expected);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=NaN', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['limit=', 'limit'],
    ['offset=-1', 'offset'],
    ['offset=1e308', 'offset'],
    ['offset=x', 'offset'],
    ['isAdult=True', 'isAdult'],
    ['isAdult=1', 'isAdult'],
    ['isPro=', 'isPro'],
    ['isWebEnabled=yes', 'isWebEnabled'],
    ['isAdult=true&isAdult=false', 'isAdult'],
    ['sortBy=name', 'sortBy'],
    ['sortBy=__proto__', 'sortBy'],
    ['sortBy=imports&sortOrder=DESC', 'sortOrder'],
    [`search=${'x'.repeat(201)}`, 'search'],
    ['search=a%00b', 'search'],
    ['search=a&search=b', 'search'],
    [`tags=${'x'.repeat(101)}`, 'tags'],
    ['tags=a%00', 'tags'],
    [`tags=${Array.from({ length: 21 }, (_, index) => `t${index}`).join(',')}`, 'tags'],
    [Array.from({ length: 21 }, (_, index) => `categories=c${index}`).join('&'), 'categories'],
    [`categories=${'x'.repeat(101)}`, 'categories'],
    [`modelId=${'x'.repeat(201)}`, 'modelId'],
    [Array.from({ length: 21 }, (_, index) => `modelId=m${index}`).join('&'), 'modelId'],
  ])('%.60s: 400 that names %s', async (query, parameter) => {
    const response = await api.call(`/characters?${query}`, { key });
    const body = (await response.json()) as { error: string; details: Record<string, unknown> };
    expect([response.status, body.error]).toEqual([400, 'Invalid request parameters']);
    expect(Object.keys(body.details)).toContain(parameter);
  });

  it.each(['color=red', '__proto__=1', 'constructor=1'])('%s: an unknown parameter is refused', async (query) => {
    const response = await api.call(`/characters?${query}`, { key });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { details: { _errors: [expect.any(String)] } },
    ]);
  });

  it('requires a key', async () => {
    expect((await api.call('/characters')).status).toBe(402);
    expect((await api.call('/characters/ace')).status).toBe(402);
    expect((await api.call('/characters/ace/reviews')).status).toBe(402);
  });
});

describe('GET /characters/{slug}', () => {
  it('finds a character by slug and by id, adult or not, without its prompt', async () => {
    const bySlug = await (await api.call('/characters/gnu', { key })).text();
    expect(bySlug).not.toContain(SECRET);
    const shown = JSON.parse(bySlug) as { object: string; data: Listed };
    expect(shown).toMatchObject({ object: 'character', data: { slug: 'gnu', adult: true } });
    for (const id of [shown.data.id, shown.data.id.toUpperCase()]) {
      expect(await (await api.call(`/characters/${id}`, { key })).text()).toBe(bySlug);
    }
  });

  it.each([
    'nobody',
    'ACE',
    '%00',
    'a%00',
    '%25',
    "ace'--",
    '00000000-0000-4000-8000-000000000000',
    '__proto__',
    'x'.repeat(3_000),
    '%F0%9F%A6%8A',
  ])('%.40s is not there', async (name) => {
    for (const route of [name, `${name}/reviews`]) {
      const response = await api.call(`/characters/${route}`, { key });
      expect([response.status, await response.json()]).toEqual([404, { error: 'Character not found' }]);
    }
  });
});

describe('GET /characters/{slug}/reviews', () => {
  it.each([
    ['', 1, 20],
    ['?page=3&pageSize=100', 3, 100],
  ])('%s: an empty list with its pagination, in body and headers', async (query, page, pageSize) => {
    const response = await api.call(`/characters/ace/reviews${query}`, { key });
    expect(await response.json()).toEqual({
      ...{ object: 'list', data: [], pagination: { page, pageSize, total: 0, totalPages: 0 } },
      summary: { averageRating: 0, totalReviews: 0 },
    });
    const headers = ['limit', 'page', 'total', 'total-pages'].map((name) =>
      response.headers.get(`x-pagination-${name}`),
    );
    expect(headers).toEqual([String(pageSize), String(page), '0', '0']);
  });

  it.each(['page=0', 'page=-1', 'page=x', 'pageSize=0', 'pageSize=101', 'pageSize=1.5', 'size=1'])(
    '%s: 400',
    async (query) => {
      const response = await api.call(`/characters/ace/reviews?${query}`, { key });
      expect([response.status, await response.json()]).toMatchObject([400, { details: expect.any(Object) }]);
    },
  );
});

describe('the characters table', () => {
  it('is filled from the file when that has changed, and only then', async () => {
    const { sql, config } = api.opened.dependencies.core;
    expect(await slugs('')).toBe(DEFAULT);
    expect(await loadCharacters(sql, config.characters)).toBe(false);
    const fewer = config.characters.slice(1, 3);
    const changed = await Promise.all([1, 2, 3].map(() => loadCharacters(sql, fewer)));
    expect(changed.filter((filled) => filled)).toHaveLength(1);
    expect(await slugs('')).toBe('bee cat');
    expect(await loadCharacters(sql, [])).toBe(true);
    expect(await slugs('')).toBe('');
    expect(await loadCharacters(sql, config.characters)).toBe(true);
    expect(await slugs('')).toBe(DEFAULT);
  });
});

describe('a characters file', () => {
  const valid = { slug: 'a', name: 'A', modelId: 'kimi-k3', systemPrompt: 'Be A.' };
  async function load(content: unknown): Promise<string> {
    await writeFile(path.join(folder, 'tried.json'), typeof content === 'string' ? content : JSON.stringify(content));
    const file = path.join(folder, 'tried.config.json');
    await writeFile(file, JSON.stringify({ catalogue: { charactersFile: 'tried.json' } }));
    return messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file }));
  }

  it.each<[string, unknown, string]>([
    ['an object', {}, '(the whole file): found an object, allowed: a list'],
    ['no prompt', [{ ...valid, systemPrompt: undefined }], '[0].systemPrompt: found nothing, allowed: text'],
    ['a strange slug', [{ ...valid, slug: 'A b' }], '[0].slug: found "A b", allowed: a slug'],
    ['a slug twice', [valid, valid], '[1].slug: found "a", which [0] has already'],
    ['an unknown key', [{ ...valid, prompt: '' }], '[0].prompt: found an unknown key, allowed: only id, slug'],
    ['an unknown model', [{ ...valid, modelId: 'nobody' }], '[0].modelId: found "nobody", allowed: the id of a text'],
    ['a model that cannot speak', [{ ...valid, modelId: 'chroma' }], '[0].modelId: found "chroma", allowed: the id'],
    ['a tag with a comma', [{ ...valid, tags: ['a,b'] }], '[0].tags[0]: found "a,b", allowed: a word'],
    ['a NUL', [{ ...valid, name: 'a\u0000' }], '[0].name: found "a\\u0000", allowed: text without'],
    ['impossible ratings', [{ ...valid, stats: { ratingCount: 1, ratingSum: 6 } }], '[0].stats.ratingSum: found 6'],
    ['a broken time', [{ ...valid, createdAt: 'today' }], '[0].createdAt: found "today", allowed: a UTC time'],
    ['broken JSON', '[{]', 'not valid JSON at line 1'],
  ])('with %s is refused, and the error says where', async (_name, content, words) => {
    const message = await load(content);
    expect(message).toContain('tried.json');
    expect(message).toContain(words);
  });

  it('that is missing is named in the error', () => {
    const file = path.join(folder, 'tried.config.json');
    const missing = loadConfigOf(file, 'missing.json');
    return expect(missing).resolves.toContain('missing.json: cannot be read (ENOENT); catalogue.charactersFile');
  });

  async function loadConfigOf(file: string, charactersFile: string): Promise<string> {
    await writeFile(file, JSON.stringify({ catalogue: { charactersFile } }));
    return messageOf(() => loadConfig(PROVIDERS, { ...COMPLETE, FAREBOX_CONFIG: file }));
  }

  it('is shipped with characters whose ids never change', () => {
    const { characters } = loadConfig(PROVIDERS, COMPLETE);
    expect(characters.length).toBeGreaterThanOrEqual(6);
    expect(characters.every(({ systemPrompt }) => systemPrompt.length > 40)).toBe(true);
    expect(loadConfig(PROVIDERS, COMPLETE).characters).toEqual(characters);
    expect(new Set(characters.map(({ id }) => id)).size).toBe(characters.length);
  });
});
