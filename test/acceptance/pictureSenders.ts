/** Requests with a picture for each picture route and each encoding, with local models. */
import type { BadImage } from '../fixtures/badImages/badImage.ts';
import { CUTOUT, EDIT, GENERATE, MULTI_EDIT, STYLED_MODEL, UPSCALE } from './badPictureBodies.ts';
import type { Call } from './client.ts';
import { multipart } from './multipart.ts';

export interface PictureSender {
  title: string;
  spelling: 'json' | 'form';
  path: string;
  /** Field of the picture, as refusals name it. */
  field: string;
  /** Whether the minimum of edits applies: 65,536 pixels. */
  hasLeast: boolean;
  /** Whether the model decodes the picture. */
  decodes: boolean;
  send(file: Buffer): Call;
}

const PROMPT = 'rotate 90 degrees';
const base64 = (file: Buffer) => file.toString('base64');
const dataUrl = (file: Buffer) => `data:image/png;base64,${base64(file)}`;

/** Accepted spellings of one picture. */
export function spellings(picture: Buffer): [name: string, call: Call][] {
  const text = base64(picture);
  const edit = (image: string): Call => ({ json: { model: 'local-edit', prompt: PROMPT, image } });
  const sent = (head: { filename: string; type?: string }): Call => {
    const fields = { model: 'local-edit', prompt: PROMPT };
    const texts = Object.entries(fields).map(([name, value]) => ({ name, value }));
    return multipart([...texts, { name: 'image', value: picture, ...head }]);
  };
  return [
    ['base64', edit(text)],
    ['base64 in lines', edit(text.replace(/.{76}/g, '$&\r\n'))],
    ['base64 with blanks around it', edit(` \n${text}\t`)],
    ['base64 without padding', edit(text.replace(/=+$/, ''))],
    ['base64 with more padding', edit(`${text}==`)],
    ['base64url', edit(picture.toString('base64url'))],
    ['a data URL', edit(dataUrl(picture))],
    ['a data URL of another picture type', edit(`data:image/webp;base64,${text}`)],
    ['a data URL of a text', edit(`data:text/plain;base64,${text}`)],
    ['a data URL in capitals', edit(`DATA:IMAGE/PNG;BASE64,${text}`)],
    ['a file of another type', sent({ filename: 'a.jpg', type: 'image/jpeg' })],
    ['a file that is called a text', sent({ filename: 'a.txt', type: 'text/plain' })],
    ['a file of no type', sent({ filename: 'blob' })],
  ];
}

const EDITS = { path: EDIT, field: 'image', hasLeast: true, decodes: true };
const MULTI = { path: MULTI_EDIT, field: 'images[0]', hasLeast: true, decodes: true };
const CUTOUTS = { path: CUTOUT, field: 'image', hasLeast: false, decodes: true };
const UPSCALES = { path: UPSCALE, field: 'image', hasLeast: false, decodes: true };
const STYLES = { path: GENERATE, field: 'style_references[0].image', hasLeast: false, decodes: false };

function file(name: string, value: Buffer, fields: Record<string, string>): Call {
  const texts = Object.entries(fields).map(([field, text]) => ({ name: field, value: text }));
  return multipart([...texts, { name, filename: 'a.jpg', type: 'image/jpeg', value }]);
}

const JSON_SENDERS: Omit<PictureSender, 'title' | 'spelling'>[] = [
  { ...EDITS, send: (image) => ({ json: { model: 'local-edit', prompt: PROMPT, image: dataUrl(image) } }) },
  {
    ...MULTI,
    send: (image) => ({ json: { modelId: 'local-edit', prompt: PROMPT, images: [base64(image)] } }),
  },
  { ...CUTOUTS, send: (image) => ({ json: { model: 'local-cutout', image: base64(image) } }) },
  { ...UPSCALES, send: (image) => ({ json: { model: 'local-upscale-image', image: dataUrl(image) } }) },
  {
    ...STYLES,
    send: (image) => ({
      json: { model: STYLED_MODEL, prompt: 'a boat', style_references: [{ image: base64(image) }] },
    }),
  },
];

const FORM_SENDERS: Omit<PictureSender, 'title' | 'spelling'>[] = [
  { ...EDITS, send: (image) => file('image', image, { model: 'local-edit', prompt: PROMPT }) },
  { ...MULTI, send: (image) => file('images', image, { modelId: 'local-edit', prompt: PROMPT }) },
  { ...CUTOUTS, send: (image) => file('image', image, { model: 'local-cutout' }) },
  { ...UPSCALES, send: (image) => file('image', image, { model: 'local-upscale-image' }) },
];

export function sendersOf(spelling: 'json' | 'form'): PictureSender[] {
  const senders = spelling === 'json' ? JSON_SENDERS : FORM_SENDERS;
  return senders.map((sender) => ({ ...sender, spelling, title: `${sender.path}, ${spelling}` }));
}

/** Whether this route must refuse the image. */
export function takesPicture({ hasLeast, decodes }: PictureSender, { name, look }: BadImage): boolean {
  if (look === undefined) return decodes;
  return hasLeast || name !== 'a pixel too few';
}
