/** Media that every order refuses: internal URLs, failing servers, and invalid or too large files. */

import { gif, greyPng } from '../../engines/media/pictureFiles.ts';
import { patched, stretched } from '../../engines/media/videoFiles.ts';
import { INTERNAL_HOSTS, LOOPBACK_HOSTS } from '../../infra/http/vectors.ts';
import { toneWav } from '../recordings.ts';
import { clip, dataUrl, SQUARE } from './media.ts';
import type { MediaServer } from './mediaServer.ts';

/** Fields in which an order can name a medium: the name in answers, and fields with the URL. */
const PLACES: readonly (readonly [at: string, fields: (url: string) => object])[] = [
  ['image_url', (url) => ({ image_url: url })],
  ['end_image_url', (url) => ({ image_url: GOOD_PICTURE, end_image_url: url })],
  ['audio_url', (url) => ({ audio_url: url })],
  ['video_url', (url) => ({ video_url: url })],
  ['reference_image_urls[1]', (url) => ({ reference_image_urls: [GOOD_PICTURE, url] })],
  ['reference_video_urls[0]', (url) => ({ reference_video_urls: [url] })],
  ['reference_audio_urls[0]', (url) => ({ reference_image_urls: [GOOD_PICTURE], reference_audio_urls: [url] })],
  ['reference_document_urls[0]', (url) => ({ reference_document_urls: [url] })],
  ['scene_image_urls[0]', (url) => ({ scene_image_urls: [url] })],
  ['elements[0].frontal_image_url', (url) => ({ elements: [{ frontal_image_url: url }] })],
  [
    'elements[0].reference_image_urls[0]',
    (url) => ({ elements: [{ frontal_image_url: GOOD_PICTURE, reference_image_urls: [url] }] }),
  ],
  ['elements[1].video_url', (url) => ({ elements: [{ frontal_image_url: GOOD_PICTURE }, { video_url: url }] })],
  ['keyframes[0].image_url', (url) => ({ keyframes: [{ image_url: url, frame_index: 0 }] })],
];

const GOOD_PICTURE = dataUrl('image/png', SQUARE);

export interface WrongMedium {
  at: string;
  fields: object;
  name: string;
  status: number;
}

const INSIDE = [...LOOPBACK_HOSTS, ...INTERNAL_HOSTS];

/** Each field with some internal hosts. With `all`, each with every host. */
export function insidePlaces(all: boolean): { at: string; fields: object; host: string }[] {
  const everywhere = PLACES.flatMap(([at, fields]) => INSIDE.map((host) => ({ at, fields, host })));
  const some = INSIDE.filter((_, number) => number % 6 === 0);
  const inTurn = some.map((host, turn) => {
    const [at, fields] = PLACES[turn % PLACES.length] ?? ['', () => ({})];
    return { at, fields, host };
  });
  return (all ? everywhere : inTurn).map(({ at, fields, host }) => ({
    ...{ at, host, fields: fields(`http://${host}/`) },
  }));
}

/** Each invalid file in one field. `whole` is a video of one second. */
export function wrongFiles(media: MediaServer, whole: Buffer): WrongMedium[] {
  const long = stretched(whole, 1_000);
  const files: [name: string, at: string, bytes: Buffer, status?: number][] = [
    ['nothing', 'image_url', Buffer.alloc(0)],
    ['nothing', 'video_url', Buffer.alloc(0)],
    ['text for a picture', 'keyframes[0].image_url', Buffer.from('This is a text.'.repeat(1_000))],
    ['a picture for a video', 'video_url', SQUARE],
    ['a video for a picture', 'image_url', whole],
    ['a video for sound', 'audio_url', whole],
    ['a program for a document', 'reference_document_urls[0]', Buffer.from('\x7fELF\x02\x01\x01\0\0', 'latin1')],
    ['a cut picture', 'end_image_url', SQUARE.subarray(0, -20)],
    ['a cut video', 'video_url', whole.subarray(0, -500)],
    ['a small picture', 'image_url', greyPng({ width: 255, height: 256 })],
    ['a picture of a gigapixel', 'scene_image_urls[0]', greyPng({ width: 32_000, height: 32_000 }, 1)],
    ['a picture that ends early', 'image_url', greyPng({ width: 4_000, height: 4_000 }, 1)],
    ['a film of ten thousand screens', 'image_url', gif({ width: 8_000, height: 8_000 }, 10_000)],
    ['a picture with a short side', 'reference_image_urls[1]', greyPng({ width: 255, height: 300 })],
    ['a picture that is too wide', 'reference_image_urls[1]', greyPng({ width: 520, height: 256 })],
    ['a video that tells a large screen', 'video_url', patched(whole, 'avc1', enlarged)],
    ['a video that tells a long time', 'video_url', long, 422],
    ['a reference that is too short', 'reference_video_urls[0]', whole],
    ['a reference that is too long', 'elements[1].video_url', clip({ seconds: 17, rate: 4 }), 422],
    ['sound of half a minute and more', 'audio_url', toneWav(31), 422],
    ['sound that is cut', 'audio_url', toneWav(1).subarray(0, 44)],
  ];
  return files.map(([name, at, bytes, status = 400], index) => {
    const url = media.serve(`wrong-${index}`, bytes);
    return { name, at, status, fields: fieldsOf(at, url) };
  });
}

/** Enlarges width and height of the first track's sample entry. */
function enlarged(copy: Buffer, at: number): void {
  copy.writeUInt16BE(60_000, at + 28);
  copy.writeUInt16BE(60_000, at + 30);
}

/** Each failing server in one field. */
export function wrongServers(media: MediaServer): WrongMedium[] {
  const servers: [name: string, at: string, path: string, status?: number][] = [
    ['an empty file', 'image_url', '/empty-file'],
    ['a body without end', 'image_url', '/never-ending', 413],
    ['more than was announced', 'image_url', '/understated'],
    ['a gigabyte, announced', 'video_url', '/gigabyte', 413],
    ['a gigabyte, announced', 'reference_audio_urls[0]', '/gigabyte', 413],
    ['26 MB of picture', 'keyframes[0].image_url', '/huge', 413],
    ['a byte now and then', 'end_image_url', '/dripping'],
    ['a page that says video', 'video_url', '/web-page'],
    ['half a body', 'reference_video_urls[0]', '/cut'],
    ['a refusal', 'image_url', '/refused'],
    ['nothing there', 'elements[0].frontal_image_url', '/missing'],
    ['a way without end', 'image_url', '/redirect?status=302'],
    ['a way inside', 'video_url', '/redirect?status=301&to=http://169.254.169.254/latest'],
  ];
  return servers.map(([name, at, path, status = 400]) => ({
    ...{ name, at, status, fields: fieldsOf(at, media.at(path)) },
  }));
}

/** Invalid media inline in the request. */
export function wrongDataUrls(): WrongMedium[] {
  const [large, noise] = [Buffer.alloc(25 * 1_048_576 + 1, 7), Buffer.alloc(100, 7)];
  return [
    ['a picture of more than 25 MB', 'image_url', dataUrl('image/png', large), 413] as const,
    [
      'sound of more than 15 MB',
      'audio_url',
      dataUrl('audio/wav', large.subarray(0, 15 * 1_048_576 + 1)),
      413,
    ] as const,
    ['noise for a picture', 'elements[0].reference_image_urls[0]', dataUrl('image/png', noise), 400] as const,
    ['noise for a document', 'reference_document_urls[0]', dataUrl('application/pdf', noise), 400] as const,
  ].map(([name, at, url, status]) => ({ name, at, status, fields: fieldsOf(at, url) }));
}

function fieldsOf(at: string, url: string): object {
  const place = PLACES.find(([name]) => name === at);
  if (!place) throw new Error(`no place ${at}`);
  return place[1](url);
}
