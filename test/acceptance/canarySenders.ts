/** Requests with the word in every possible place. */
import { randomUUID } from 'node:crypto';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { dataUrl, png } from '../api/text/pictures.ts';
import { docx } from '../engines/documents/archives.ts';
import type { Call } from './client.ts';
import type { Deployment } from './deployment.ts';
import { WAYS } from './echoUpstream.ts';
import { completeForGood, outcomeOf, queueFile, queueIdOf, queueJson } from './orders.ts';
import { toneWav } from './recordings.ts';
import { CHAT, EMBEDDINGS, file, PARSER, picture, SCRAPE, withPart } from './textBadRequests.ts';

/** Sends the word and returns the status. A name ending in `: taken` must get 200 once. */
type Sender = [name: string, send: (word: string) => Promise<number>];

interface World {
  farebox: Deployment;
  site: string;
}

export function senders(world: World): Sender[] {
  const most = [
    ...chatSenders(world),
    ...wrongSenders(world),
    ...embeddingSenders(world),
    ...documentSenders(world),
    ...pageSenders(world),
  ];
  // Job requests occur once per round, because a job takes time.
  return [...most, ...voiceSenders(world)];
}

const HELLO = (word: string) => [{ role: 'user', content: `Say ${word} again` }];

function chatSenders({ farebox, site }: World): Sender[] {
  const post = async (call: Call) => (await farebox.account.api.post(CHAT, call)).status;
  const chat = (name: string, fieldsOf: (word: string) => object): Sender => [
    name,
    (word) => post({ json: { model: 'echo-ok', messages: HELLO(word), ...fieldsOf(word) } }),
  ];
  const ways = Object.keys(WAYS).flatMap((way) =>
    [false, true].map((stream) => chat(`${way} ${stream}`, () => ({ model: `echo-${way}`, stream }))),
  );
  const look = (word: string) => ({ name: `look_${word}`, description: word, parameters: { title: word } });
  return [
    ...ways,
    chat('whole: taken', () => ({})),
    chat('streamed: taken', () => ({ stream: true })),
    chat('roles: taken', (word) => ({
      messages: [
        { role: 'system', content: word, name: word },
        { role: 'developer', content: [{ type: 'text', text: word }] },
        {
          ...{ role: 'assistant', content: word, reasoning_content: word },
          tool_calls: [{ id: word, type: 'function', function: { name: word, arguments: `"${word}"` } }],
        },
        { role: 'tool', content: word, tool_call_id: word },
        { role: 'user', content: word },
      ],
    })),
    chat('tools: taken', (word) => ({ tools: [{ type: 'function', function: look(word) }] })),
    chat('small fields: taken', (word) => ({
      ...{ user: word, anon_user_id: word, prompt_cache_key: word, stop: [word], include: [word] },
      metadata: { [word]: word },
      service_parameters: { [word]: word },
    })),
    chat('picture: taken', (word) => withPart(picture(dataUrl(Buffer.concat([png(64, 64), Buffer.from(word)]))))),
    chat('recording: taken', (word) => {
      const data = Buffer.concat([toneWav(1), Buffer.from(word)]).toString('base64');
      return withPart({ type: 'input_audio', input_audio: { data } });
    }),
    chat('file: taken', (word) => withPart(file(dataUrl(Buffer.from(`Of ${word}`), 'text/plain'), `${word}.txt`))),
    chat('page as a file: taken', (word) => withPart(file(`${site}/page/${word}?q=${word}`))),
    chat('broken file', (word) => withPart(file(dataUrl(Buffer.from(`%PDF-1.4 ${word}`), word), word))),
    chat('fallback: taken', () => ({ model: 'echo-failed', fallbacks: [{ model: 'echo-ok' }] })),
    chat('picture that is none', (word) => withPart(picture(`${site}/page/${word}`))),
    chat('picture nowhere', (word) => withPart(picture(`http://127.0.0.1:1/${word}?q=${word}`))),
    chat('picture elsewhere', (word) => withPart(picture(`http://${word}.example/${word}`))),
  ];
}

function wrongSenders({ farebox }: World): Sender[] {
  const { api } = farebox.account;
  const post = async (path: string, call: Call) => (await api.post(path, call)).status;
  const wrong = (name: string, fieldsOf: (word: string) => object): Sender => [
    `wrong: ${name}`,
    (word) => post(CHAT, { json: { model: 'echo-ok', messages: HELLO(word), ...fieldsOf(word) } }),
  ];
  const raw = (text: string, contentType = 'application/json') => ({
    raw: { bytes: Buffer.from(text), contentType },
  });
  const poor = createAccount(farebox.pool, { id: randomUUID(), name: 'poor' }).then(
    async ({ id }) =>
      (await createKey(farebox.pool, { accountId: id, keyType: 'INFERENCE', modelPrivacy: 'ALL' })).secret,
  );
  const ask = (word: string) => ({ json: { model: 'echo-ok', messages: HELLO(word) } });
  return [
    wrong('field', (word) => ({ [word]: 1 })),
    wrong('value', (word) => ({ reasoning_effort: word })),
    wrong('number', (word) => ({ temperature: word })),
    wrong('name in an object', (word) => ({ metadata: { [word]: 5 } })),
    wrong('role', (word) => ({ messages: [{ role: word, content: word }] })),
    wrong('variant', (word) => ({ response_format: { type: 'text', [word]: word } })),
    wrong('part', (word) => ({ messages: [{ role: 'user', content: [{ type: word, text: word }] }] })),
    wrong('end user', (word) => ({ anon_user_id: `${word}||` })),
    wrong('model', (word) => ({ model: word })),
    wrong('setting', (word) => ({ model: `echo-ok:${word}=${word}&character_slug=${word}` })),
    wrong('fallback', (word) => ({ fallbacks: [{ model: word }], n: word })),
    ['half a body', (word) => post(CHAT, raw(`{"model":"echo-ok","messages":"${word}`))],
    ['a body of another type', (word) => post(CHAT, raw(word, `text/${word}`))],
    ['a query', (word) => post(`${CHAT}?${word}=${word}`, { json: { model: 'echo-ok' } })],
    ['a path', (word) => post(`/${word}/${word}`, ask(word))],
    ['a header', (word) => post(CHAT, { ...ask(word), headers: { 'x-request-id': word, cookie: word } })],
    ['a credential', (word) => post(CHAT, { ...ask(word), key: word })],
    ['no money', async (word) => post(CHAT, { ...ask(word), key: await poor })],
  ];
}

function embeddingSenders({ farebox }: World): Sender[] {
  const embed = (name: string, fieldsOf: (word: string) => object): Sender => [
    `embeddings ${name}`,
    async (word) => {
      const json = { model: 'embed-ok', input: word, ...fieldsOf(word) };
      return (await farebox.account.api.post(EMBEDDINGS, { json })).status;
    },
  ];
  return [
    embed('one: taken', () => ({})),
    embed('many: taken', (word) => ({ input: [word, word], user: word })),
    embed('field', (word) => ({ [word]: word })),
    embed('value', (word) => ({ encoding_format: word })),
    ...['wrong', 'failed', 'page', 'policy'].map((way) => embed(way, () => ({ model: `embed-${way}` }))),
  ];
}

function documentSenders({ farebox }: World): Sender[] {
  const parse = (name: string, partsOf: (word: string) => Record<string, string | Blob>): Sender => [
    `document ${name}`,
    async (word) => (await farebox.account.api.post(PARSER, { form: partsOf(word) })).status,
  ];
  const as = (bytes: string | Buffer, name: string, type = 'text/plain') =>
    new File([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], name, { type });
  return [
    parse('text: taken', (word) => ({ file: as(`Of ${word}`, `${word}.txt`) })),
    parse('docx: taken', (word) => ({ file: as(docx(`<w:p><w:r><w:t>${word}</w:t></w:r></w:p>`), word) })),
    parse('broken docx', (word) => ({ file: as(docx(`<!DOCTYPE ${word}>${word}`), word) })),
    parse('broken pdf', (word) => ({ file: as(`%PDF-1.4\n1 0 obj ${word} <<${word}`, word, `a/${word}`) })),
    parse('field', (word) => ({ file: as(word, word), [word]: word })),
    parse('value', (word) => ({ file: as(word, word), response_format: word })),
  ];
}

function pageSenders({ farebox, site }: World): Sender[] {
  const scrape = (name: string, urlOf: (word: string) => string): Sender => [
    `page ${name}`,
    async (word) => (await farebox.account.api.post(SCRAPE, { json: { url: urlOf(word) } })).status,
  ];
  return [
    scrape('read: taken', (word) => `${site}/page/${word}?q=${word}#${word}`),
    ...['missing', 'odd', 'away', 'wall'].map((path) => scrape(path, (word) => `${site}/${path}/${word}`)),
    scrape('nowhere', (word) => `http://127.0.0.1:1/${word}?q=${word}`),
    scrape('unknown host', (word) => `https://${word}.example/${word}`),
    scrape('inside', (word) => `http://10.0.0.1/${word}`),
    scrape('with a credential', (word) => `https://${word}:${word}@example.com/`),
    scrape('that is none', (word) => word),
    ['a search', async (word) => (await farebox.account.api.post('/augment/search', { json: { query: word } })).status],
  ];
}

function voiceSenders({ farebox, site }: World): Sender[] {
  const { api } = farebox.account;
  const done = async (model: string, queueId: string) => {
    const { status } = await outcomeOf(api, { model, queueId });
    if (status === 200) await completeForGood(api, { model, queueId });
    return status;
  };
  const recording = (word: string) => {
    const bytes = Buffer.concat([toneWav(1), Buffer.from(`LIST${word}`)]);
    return new File([new Uint8Array(bytes)], `${word}.wav`, { type: `audio/${word}` });
  };
  return [
    [
      'voice of a file',
      async (word) => {
        const order = { model: 'quick-voice', source: recording(word) };
        return done('quick-voice', queueIdOf(await queueFile(api, order)));
      },
    ],
    [
      'voice that fails',
      async (word) => {
        const order = { model: 'failing-voice', source: recording(word) };
        return done('failing-voice', queueIdOf(await queueFile(api, order)));
      },
    ],
    [
      'voice that is unknown',
      async (word) =>
        (await queueFile(api, { model: 'quick-voice', source: recording(word), fields: { voice: word } })).status,
    ],
    [
      'voice with a field',
      async (word) =>
        (await queueJson(api, { model: 'quick-voice', audio_url: `${site}/recording`, [word]: word })).status,
    ],
  ];
}
