/** Requests of callers without funds that once caused work before their refusal. */
import { newEvmWallet, signText } from '../../harness/signIns.ts';
import { workbook } from './plainRows.ts';
import { type Answer, ask, formOf, type HostileRow, type Sending, sendBytes } from './row.ts';
import { documentPart, saying } from './textRows.ts';
import type { HostileWorld } from './world.ts';

type Row = HostileRow<HostileWorld>;

const MEGABYTE = 1_000_000;
const REFUSED = { status: 402, body: /Insufficient USD or Diem balance/, charged: 0n };

function refused(name: string, path: string, bodyOf: (world: HostileWorld) => object): Row {
  return {
    name,
    send: async (world) => await ask(world.origin, path, { ...(await poor(world)), body: bodyOf(world) }),
    ...REFUSED,
  };
}

async function poor(world: HostileWorld): Promise<Sending> {
  return { key: await world.newPoorKey() };
}

/** Four messages with ten images each. */
const fortyImages = ({ site }: HostileWorld) =>
  Array.from({ length: 4 }, (_message, message) => ({
    role: 'user',
    content: Array.from({ length: 10 }, (_part, part) => ({
      ...{ type: 'image_url', image_url: { url: `${site}/picture?${message}${part}` } },
    })),
  }));
const voiceChange = ({ site }: HostileWorld) => ({
  ...{ model: 'local-voice-changer', audio_url: `${site}/sound` },
});

export const UNFUNDED_ROWS: readonly Row[] = [
  {
    name: 'an ADMIN key for any wallet',
    send: async ({ origin }) => await walletKey(origin),
    ...{ status: 200, body: /"apiKeyType":"ADMIN"/, charged: 0n },
  },
  {
    name: 'a conversation with a workbook by the key of any wallet',
    async send({ origin }) {
      const { body } = await walletKey(origin);
      const { apiKey } = JSON.parse(body).data as { apiKey: string };
      return await ask(origin, '/chat/completions', { key: apiKey, body: saying([documentPart(40_000)]) });
    },
    ...REFUSED,
  },
  refused('a conversation with a workbook', '/chat/completions', () => saying([documentPart(1_000_000)])),
  refused('a workbook', '/augment/text-parser', () => formOf(workbook(1_000_000), 'blanks.xlsx')),
  refused('an edit of an image by its address', '/image/edit', ({ site }) => ({
    ...{ model: 'local-edit', prompt: 'flip it', image: `${site}/picture` },
  })),
  refused('an edit of four images by their addresses', '/image/multi-edit', ({ site }) => ({
    ...{ modelId: 'local-edit', prompt: 'flip it' },
    images: Array.from({ length: 4 }, (_, turn) => `${site}/picture?${turn}`),
  })),
  refused('a recording of 20 MB', '/audio/transcriptions', () =>
    formOf(Buffer.alloc(20 * MEGABYTE), 'long.flac', { model: 'local-transcribe' }),
  ),
  refused('a voice to be cloned', '/audio/voices', () =>
    formOf(Buffer.alloc(MEGABYTE), 'me.wav', { model: 'tts-chatterbox-hd' }),
  ),
  refused('40 images by their addresses', '/chat/completions', (world) => saying('', { messages: fortyImages(world) })),
  refused('a video by its address', '/video/queue', ({ site }) => ({
    ...{ model: 'local-upscale', video_url: `${site}/video` },
  })),
  refused('a recording by its address', '/audio/voice-changer/queue', voiceChange),
  {
    name: 'the price of a recording by its address',
    async send(world) {
      const sending = { ...(await poor(world)), headers: { 'x-service-dry-run': 'true' } };
      return await ask(world.origin, '/audio/voice-changer/queue', { ...sending, body: voiceChange(world) });
    },
    ...REFUSED,
  },
  refused('a conversation of 34 MB', '/chat/completions', () =>
    saying([{ type: 'text', text: 'ab cd'.repeat((34 * MEGABYTE) / 5) }]),
  ),
  {
    name: 'a conversation in chunks of one byte',
    send: async ({ origin, newPoorKey }) =>
      await sendBytes('/chat/completions', MEGABYTE)({ origin, key: await newPoorKey() }),
    ...REFUSED,
  },
];

/** Requests an ADMIN key for a new wallet. */
async function walletKey(origin: string): Promise<Answer> {
  const path = '/api_keys/generate_web3_key';
  const { body } = await ask(origin, path, { key: undefined });
  const { token } = JSON.parse(body).data as { token: string };
  const wallet = newEvmWallet();
  const signature = await signText(wallet, token);
  const signed = { address: wallet.address, signature, token, apiKeyType: 'ADMIN' };
  return await ask(origin, path, { key: undefined, body: signed });
}
