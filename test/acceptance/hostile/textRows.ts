/** Conversations that once cost more than they paid: by media, reported usage, or early disconnection. */
import { setTimeout as sleep } from 'node:timers/promises';
import { dataUrl, png } from '../../api/text/pictures.ts';
import type { ChatScript } from '../../stubs/openaiScript.ts';
import { madeByFfmpeg } from '../recordings.ts';
import { workbook } from './plainRows.ts';
import { ask, type HostileRow, leaveStream } from './row.ts';
import type { HostileWorld } from './world.ts';

type Row = HostileRow<HostileWorld>;

const PATH = '/chat/completions';
const CENT = 10_000_000n;
/** Nano USD per token of the models here. */
const IN = 1_250n;
const OUT = 10_000n;
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const ANSWER = { status: 200, body: /"chat.completion"/, seen: ['chat'] };
const STREAM = { status: 200, body: /"chat.completion.chunk"/ };

export function saying(content: object[] | string, more: object = {}): object {
  return { model: 'seeing', max_tokens: 10, messages: [{ role: 'user', content }], ...more };
}

export function documentPart(blanks: number): object {
  const file = { filename: 'blanks.xlsx', file_data: dataUrl(workbook(blanks), XLSX) };
  return { type: 'file', file };
}

export const TEXT_ROWS: readonly Row[] = [
  {
    name: 'a conversation with a workbook of a million blanks',
    send: ({ origin, key }) => ask(origin, PATH, { key, body: saying([documentPart(1_000_000)]) }),
    ...ANSWER,
  },
  {
    name: 'a conversation with a page whose robots.txt names everybody 10,000 times',
    async send({ origin, key, sites }) {
      const parameters = { service_parameters: { enable_web_scraping: true } };
      return await ask(origin, PATH, { key, body: saying(`Read ${sites.large}/page`, parameters) });
    },
    ...{ ...ANSWER, atLeast: CENT, seen: ['chat', '/robots.txt', '/page'] },
  },
  ...(['small', 'middle'] as const).map(
    (name): Row => ({
      name: `a page whose robots.txt is ${name === 'small' ? 84 : 126} kB long`,
      send: ({ origin, key, sites }) => ask(origin, '/augment/scrape', { key, body: { url: `${sites[name]}/page` } }),
      ...{ status: 200, body: /Words of a page/, charged: CENT, seen: ['/robots.txt', '/page'] },
    }),
  ),
  told('a still video of 30 minutes', () => video('color=s=64x64:r=1:d=1800'), 464_400),
  told('a film of 5 minutes with a picture a second', () => video('testsrc2=s=320x240:r=1:d=300'), 77_400),
  told('a thin recording of 30 minutes', thinRecording, 57_600),
  told('a large picture', async () => ({ type: 'image_url', image_url: { url: dataUrl(png(4_032, 3_024)) } }), 16_384),
  {
    name: 'a stream of unseen reasoning that is left in the middle of its words',
    send: (world) =>
      leave(world, { tokens: [' a', ' b', ' c'], hang: 2 }, saying('Think.', { max_tokens: 9_000 }), async (text) => {
        const isBegun = text.includes('"content"');
        if (isBegun) await sleep(1_500);
        return isBegun;
      }),
    ...{ ...STREAM, atLeast: 100n * OUT, seen: ['chat'] },
  },
  {
    name: 'a stream that is left when the search results are there',
    send: (world) => leaveResults(world, 'Who won?', { enable_web_search: 'on' }),
    ...{ ...STREAM, atLeast: CENT, seen: ['chat', 'search'] },
  },
  {
    name: 'a stream that is left when five pages are read',
    send: (world) => leaveResults(world, pagesOf(world), { enable_web_scraping: true }),
    ...{ ...STREAM, atLeast: 5n * CENT },
    seen: ['chat', ...Array.from({ length: 5 }, (_, turn) => `/page?${turn}`)],
  },
  cacheWrite('5m', 3_750n),
  cacheWrite('1h', 6_000n),
  {
    name: '8,000 tokens of reasoning that a service counts beside the limit',
    async send({ origin, key, chat }) {
      const usage = {
        ...{ prompt_tokens: 12, completion_tokens: 10, total_tokens: 8_022 },
        completion_tokens_details: { reasoning_tokens: 8_000 },
      };
      chat.next = [{ tokens: ['Yes'], usage }];
      return await ask(origin, PATH, {
        key,
        body: saying('Think.', { model: 'beside', reasoning_effort: 'low' }),
      });
    },
    ...{ ...ANSWER, charged: 12n * IN + 8_010n * OUT },
  },
  {
    name: 'an answer of 50 words whose service tells no completion tokens',
    async send({ origin, key, chat }) {
      chat.next = [{ tokens: WORDS, usage: { prompt_tokens: 12 } }];
      return await ask(origin, PATH, { key, body: saying('Speak.', { max_tokens: 100 }) });
    },
    ...{ ...ANSWER, atLeast: 12n * IN + 40n * OUT },
  },
  {
    name: 'a stream of 50 words that ends after the usage of its first one',
    async send({ origin, key, chat }) {
      const usage = { prompt_tokens: 12, completion_tokens: 1, total_tokens: 13 };
      const frames = WORDS.map((content, index) => frame(content, index === 0 ? usage : undefined));
      const last = { ...frame(''), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      chat.next = [{ frames: [...frames, last] }];
      return await ask(origin, PATH, { key, body: saying('Speak.', { stream: true, max_tokens: 100 }) });
    },
    ...{ ...STREAM, atLeast: 40n * OUT, seen: ['chat'] },
  },
];

const WORDS = Array.from({ length: 50 }, (_, index) => ` word${index}`);

function frame(content: string, usage?: object) {
  return {
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-stub' },
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...(usage && { usage }),
  };
}

/** A medium for which the service counts these tokens, with an answer of one token. */
function told(name: string, make: () => Promise<object>, prompt_tokens: number): Row {
  return {
    name: `a conversation with ${name}`,
    async send({ origin, key, chat }) {
      chat.next = [{ tokens: ['Yes'], usage: { prompt_tokens, completion_tokens: 1 } }];
      const content = [{ type: 'text', text: 'Look.' }, await make()];
      return await ask(origin, PATH, { key, body: saying(content, { max_tokens: 1 }) });
    },
    ...{ ...ANSWER, charged: BigInt(prompt_tokens) * IN + OUT },
  };
}

async function video(source: string): Promise<object> {
  const encoding = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
  const bytes = await madeByFfmpeg(['-f', 'lavfi', '-i', source, ...encoding], 'mp4');
  return { type: 'video_url', video_url: { url: dataUrl(bytes, 'video/mp4') } };
}

async function thinRecording(): Promise<object> {
  const source = ['-f', 'lavfi', '-i', 'sine=duration=1800:sample_rate=16000', '-ac', '1'];
  const bytes = await madeByFfmpeg([...source, '-b:a', '8k'], 'mp3');
  return { type: 'input_audio', input_audio: { data: bytes.toString('base64'), format: 'mp3' } };
}

function leave(
  { origin, key, chat }: HostileWorld,
  script: ChatScript,
  body: object,
  isEnough: (text: string) => boolean | Promise<boolean>,
) {
  chat.next = [script];
  return leaveStream(origin, PATH, { key, body: { ...body, stream: true }, isEnough });
}

function leaveResults(world: HostileWorld, question: string, asked: object) {
  const parameters = { ...asked, include_search_results_in_stream: true };
  const body = saying(question, { service_parameters: parameters });
  const usage = { prompt_tokens: 500, completion_tokens: 0, total_tokens: 500 };
  const frames = [{ ...frame('', usage), choices: [] }, frame('')];
  return leave(world, { frames, hang: 1 }, body, (text) => text.includes('web_search_citations'));
}

function pagesOf({ sites }: HostileWorld): string {
  return Array.from({ length: 5 }, (_, turn) => `${sites.large}/page?${turn}`).join(' and ');
}

/** A conversation that writes a thousand tokens to its service's cache. */
function cacheWrite(ttl: '5m' | '1h', nanoPerToken: bigint): Row {
  const part = { type: 'text', text: 'Hello there. '.repeat(600), cache_control: { type: 'ephemeral', ttl } };
  const [short, long] = ttl === '5m' ? [1_000, 0] : [0, 1_000];
  return {
    name: `a thousand tokens written to a cache for ${ttl}`,
    async send({ origin, key, claude }) {
      const usage = {
        ...{
          input_tokens: 10,
          output_tokens: 7,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 1_000,
        },
        cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
      };
      claude.next = [{ usage }];
      return await ask(origin, PATH, { key, body: saying([part], { model: 'claude' }) });
    },
    ...{ ...ANSWER, charged: 1_000n * nanoPerToken + 10n * 3_000n + 7n * 15_000n, seen: ['claude'] },
  };
}
