/** Invalid requests of the picture routes with a valid picture, each with its documented answer. */
import { expect } from 'vitest';
import { bitPng } from '../fixtures/badImages/parts.ts';
import type { BadRequest } from './badRequests.ts';
import { multipart, type Part } from './multipart.ts';

export const MULTI_EDIT = '/image/multi-edit';
export const EDIT = '/image/edit';
export const CUTOUT = '/image/background-remove';
export const UPSCALE = '/image/upscale';
export const GENERATE = '/image/generate';
const GENERATIONS = '/images/generations';
const EDITS = '/images/edits';
/** The simulator's test card with two style references. */
export const STYLED_MODEL = 'styled-card';

const PICTURE = bitPng(256, 256);
export const IMAGE = PICTURE.toString('base64');
const MEGABYTE = 1_048_576;
const PROMPT = 'rotate 90 degrees';

const INVALID = { error: 'Invalid request parameters' };
const WORDS = { error: expect.stringMatching(/\w+ \w+/) };

/** Documented details that name the field, such as `images[2]`. */
function invalid(field: string): unknown {
  const path = field.split(/[[\].]+/).filter((step) => step !== '');
  const tree = path.reduceRight<object>((inner, step) => ({ [step]: inner }), {
    _errors: [expect.any(String)],
  });
  return { ...INVALID, details: tree };
}

/** Answer about a bad picture. */
function wrongPicture(words: string | RegExp): unknown {
  return { error: expect.stringMatching(words) };
}

type Expected = unknown;

function request(path: string, usual: object) {
  return (name: string, fields: object, body: Expected, status = 400): BadRequest => ({
    name: `${path}: ${name}`,
    path,
    call: { json: { ...usual, ...fields } },
    ...{ status, body },
  });
}

const multiEdit = request(MULTI_EDIT, { modelId: 'local-edit', prompt: PROMPT, images: [IMAGE] });
const edit = request(EDIT, { model: 'local-edit', prompt: PROMPT, image: IMAGE });
const cutout = request(CUTOUT, { model: 'local-cutout', image: IMAGE });
const upscale = request(UPSCALE, { model: 'local-upscale-image', image: IMAGE });
const generate = request(GENERATE, { model: 'simulator-image', prompt: 'a boat' });
const generations = request(GENERATIONS, { model: 'simulator-image', prompt: 'a boat' });
const styled = (name: string, image: unknown, body: Expected) =>
  generate(name, { model: STYLED_MODEL, style_references: [{ image }] }, body);

const small = bitPng(257, 255).toString('base64');
const large = bitPng(7_681, 4_320).toString('base64');
const SIZE = /pixels; width times height must be between/;

export const BOUNDS: BadRequest[] = [
  edit('a pixel too few', { image: small }, wrongPicture(SIZE)),
  multiEdit('a pixel too few', { images: [IMAGE, small] }, wrongPicture(/^images\[1\] has 257 × 255 pixels/)),
  edit('a column too many', { image: large }, wrongPicture(SIZE)),
  multiEdit('a pixel too many', { images: [bitPng(33_177_601, 1).toString('base64')] }, wrongPicture(SIZE)),
  cutout('a column too many', { image: large }, wrongPicture(SIZE)),
  upscale('a column too many', { image: large }, wrongPicture(SIZE)),
  styled('a column too many', large, wrongPicture(SIZE)),
];

const [head, tail] = [IMAGE.slice(0, 40), IMAGE.slice(40)];

export const BASE64: BadRequest[] = [
  ...[
    ['no base64 at all', '!!!!'],
    ['a word', 'picture'],
    ['a space', ' '],
    ['nothing', ''],
    ['a sign that is none of base64', `${head}*${tail}`],
    ['a NUL', `${head}\u0000${tail}`],
    ['padding in the middle', `${head}==${tail}`],
    ['one character too many', `${IMAGE.replace(/=+$/, '')}AAAAA`],
    ['a path', '/etc/passwd'],
    ['a file URL', 'file:///etc/passwd'],
    ['an FTP URL', 'ftp://example.com/a.png'],
    ['an S3 URL', 's3://bucket/a.png'],
    ['a data URL of text', 'data:text/plain,hello'],
    ['a data URL without base64', 'data:image/png,hello'],
    ['a data URL of nothing', 'data:image/png;base64,'],
    ['half a data URL', 'data:image/png'],
    ['a data URL that says text and holds text', `data:text/plain;base64,${Buffer.from('hello').toString('base64')}`],
    ['a data URL that says PNG and holds text', `data:image/png;base64,${Buffer.from('hello').toString('base64')}`],
    ['a data URL in a data URL', `data:image/png;base64,data:image/png;base64,${IMAGE}`],
    ['base64 of base64', Buffer.from(IMAGE).toString('base64')],
  ].map(([name = '', image], index) => {
    const field = ['image', 'images', 'style_references'][index % 3];
    if (field === 'image') return edit(name, { image }, WORDS);
    if (field === 'images') return multiEdit(name, { images: [image] }, WORDS);
    return styled(name, image, WORDS);
  }),
  cutout('a number for a picture', { image: 7 }, invalid('image')),
  edit('a list for a picture', { image: [IMAGE] }, invalid('image')),
  multiEdit('an object for a picture', { images: [{ url: 'x' }] }, invalid('images[0]')),
  multiEdit('one picture that is no list', { images: IMAGE }, invalid('images')),
];

const LONG = 'x'.repeat(32_769);
/** Invalid fields are reported before a picture is decoded. */
export const FIELDS: BadRequest[] = [
  ...[multiEdit, edit].flatMap((order) => [
    order('no prompt', { prompt: undefined }, invalid('prompt')),
    order('an empty prompt', { prompt: '' }, invalid('prompt')),
    order('a prompt that is a number', { prompt: 5 }, invalid('prompt')),
    order('a prompt of 32,769 characters', { prompt: LONG }, invalid('prompt')),
    order('a prompt of 2,001 characters', { prompt: 'x'.repeat(2_001) }, invalid('prompt')),
    order('a prompt of spaces', { prompt: '   ' }, WORDS),
    order('a prompt of control characters', { prompt: '\u0000\u0007\u001b[31m' }, WORDS),
    order('a prompt of one half of a pair', { prompt: 'rotate \ud83d' }, WORDS),
    order('a prompt that it cannot do', { prompt: 'add a dragon' }, WORDS),
    order('a ratio that there is not', { aspect_ratio: '7:3' }, invalid('aspect_ratio')),
    order('a ratio that is a number', { aspect_ratio: 1.5 }, invalid('aspect_ratio')),
    order('a resolution that there is not', { resolution: '8K' }, invalid('resolution')),
    order('a format that there is not', { output_format: 'tiff' }, invalid('output_format')),
    order('safe mode, with no classifier', { safe_mode: true }, invalid('safe_mode')),
    order('safe mode that is a word', { safe_mode: 'yes' }, invalid('safe_mode')),
    order('a rewriting that nobody can do', { enhance_prompt: true }, invalid('enhance_prompt')),
    order('an unknown field', { strength: 1 }, INVALID),
  ]),
  multiEdit('a quality that there is not', { quality: 'ultra' }, invalid('quality')),
  multiEdit('eleven pictures', { images: Array(11).fill(IMAGE) }, invalid('images')),
  multiEdit('more pictures than the model takes', { images: Array(5).fill(IMAGE) }, invalid('images')),
  multiEdit('no pictures', { images: [] }, invalid('images')),
  multiEdit('the list left out', { images: undefined }, invalid('images')),
  multiEdit('an unknown model', { modelId: 'no-such-model' }, WORDS, 404),
  multiEdit('a model of speech', { modelId: 'local-speech-sync' }, invalid('modelId')),
  multiEdit('a model that is a number', { modelId: 5 }, WORDS),
  edit('a quality', { quality: 'low' }, INVALID),
  edit('no picture', { image: undefined }, invalid('image')),
  edit('null for a picture', { image: null }, invalid('image')),
  edit('a model of pictures', { model: 'simulator-image' }, WORDS),
  cutout('a picture and an address', { image_url: 'https://example.com/a.png' }, invalid('image')),
  cutout('neither', { image: undefined }, invalid('image')),
  cutout('an empty address', { image: undefined, image_url: '' }, invalid('image')),
  cutout('an address that is none', { image: undefined, image_url: IMAGE }, invalid('image_url')),
  cutout('a model that edits', { model: 'local-edit' }, WORDS),
  cutout('an unknown field', { mask: true }, INVALID),
  upscale('a scale below 1', { scale: 0.99 }, invalid('scale')),
  upscale('a scale above 4', { scale: 4.01 }, invalid('scale')),
  upscale('a scale that is a word', { scale: '2' }, invalid('scale')),
  upscale('no picture', { image: undefined }, invalid('image')),
  upscale('a model of another kind', { model: 'local-edit' }, WORDS),
  generate('no model', { model: undefined }, WORDS),
  generate('an empty prompt', { prompt: '' }, invalid('prompt')),
  generate('a prompt of 7,501 characters', { prompt: 'x'.repeat(7_501) }, invalid('prompt')),
  generate('a prompt of 32,769 characters', { prompt: LONG }, invalid('prompt')),
  generate('a width of nothing', { width: 0 }, invalid('width')),
  generate('a width of 1,288', { width: 1_288 }, invalid('width')),
  generate('a width of 1,001', { width: 1_001 }, invalid('width')),
  generate('a ratio that there is not', { aspect_ratio: '7:3' }, invalid('aspect_ratio')),
  generate('a resolution that there is not', { resolution: '16K' }, invalid('resolution')),
  generate('a quality that there is not', { quality: 'best' }, invalid('quality')),
  generate('no variants', { variants: 0 }, invalid('variants')),
  generate('five variants', { variants: 5 }, invalid('variants')),
  generate('two variants as one file', { variants: 2, return_binary: true }, invalid('variants')),
  generate('a style that there is not', { style_preset: 'Nothing' }, invalid('style_preset')),
  generate(
    'a reference that the model does not take',
    { style_references: [{ image: IMAGE }] },
    invalid('style_references'),
  ),
  generate('nine references', { style_references: Array(9).fill({ image: IMAGE }) }, invalid('style_references')),
  generate('safe mode, with no classifier', { safe_mode: true }, invalid('safe_mode')),
  generate('a rewriting that nobody can do', { enhance_prompt: true }, invalid('enhance_prompt')),
  generate('an inpainting', { inpaint: { mask: IMAGE } }, invalid('inpaint')),
  generate('an unknown field', { strength: 1 }, INVALID),
  generations('five pictures', { n: 5 }, invalid('n')),
  generations('a size that there is not', { size: '1x1' }, invalid('size')),
  generations('a prompt of 1,501 characters', { prompt: 'x'.repeat(1_501) }, invalid('prompt')),
  generations('an unknown field', { strength: 1 }, INVALID),
];

/** `reachable` is the origin of a test server. `inside` is an internal URL, which nobody may request. */
export function addresses(reachable: string, inside: () => string): BadRequest[] {
  const to = () => encodeURI(inside());
  const urls: [string, string][] = [
    ['loopback', 'http://127.0.0.1:1/a.png'],
    ['loopback by name', 'http://localhost/a.png'],
    ['loopback in one number', 'http://2130706433/a.png'],
    ['a private address', 'http://10.0.0.1/a.png'],
    ['a metadata service', 'http://169.254.169.254/latest/meta-data'],
    ['IPv6 loopback', 'http://[::1]/a.png'],
    ['an address with a password', 'http://user:word@example.com/a.png'],
    ['an address without a host', 'http:///a.png'],
    ['a redirect inside', `${reachable}/redirect?status=302&to=${to()}`],
    ['a redirect that keeps the method', `${reachable}/redirect?status=308&to=${to()}`],
    ['redirects without end', `${reachable}/redirect?status=302&to=/redirect?status=302`],
    ['what is not there', `${reachable}/missing`],
    ['what is refused', `${reachable}/refused`],
    ['what is cut', `${reachable}/cut`],
    ['a page', `${reachable}/late-page`],
  ];
  return [
    ...urls.flatMap(([name, url], index) => [
      multiEdit(name, { images: [IMAGE, IMAGE, url, IMAGE] }, name === 'a page' ? WORDS : invalid('images[2]')),
      index % 2 === 0
        ? cutout(name, { image: undefined, image_url: url }, WORDS)
        : upscale(name, { image: url }, WORDS),
    ]),
    edit('a file of 26 MB', { image: `${reachable}/huge` }, WORDS, 413),
    cutout('a file without end', { image: undefined, image_url: `${reachable}/endless` }, WORDS, 413),
  ];
}

const text = (name: string, value: string): Part => ({ name, value });
const file = (name: string, more: Partial<Part> = {}): Part => ({
  ...{ name, filename: 'a.png', type: 'image/png', value: PICTURE },
  ...more,
});
const NAMED = [text('model', 'local-edit'), text('prompt', PROMPT)];
const NAMED_BY_ID = [text('modelId', 'local-edit'), text('prompt', PROMPT)];

function form(path: string, name: string, [call, body, status = 400]: [BadRequest['call'], Expected, number?]) {
  return { name: `${path}, form: ${name}`, path, call, body, status };
}

export const FORMS: BadRequest[] = [
  form(EDIT, 'no file', [multipart(NAMED), invalid('image')]),
  form(EDIT, 'a field in place of the file', [multipart([...NAMED, text('image', IMAGE)]), WORDS]),
  form(EDIT, 'an empty file', [multipart([...NAMED, file('image', { value: '' })]), WORDS]),
  form(EDIT, 'two files', [multipart([...NAMED, file('image'), file('image')]), WORDS]),
  form(EDIT, 'a file of another name', [multipart([...NAMED, file('picture')]), WORDS]),
  form(EDIT, 'the prompt twice', [multipart([...NAMED, text('prompt', 'blur'), file('image')]), WORDS]),
  form(EDIT, 'an unknown field', [multipart([...NAMED, text('strength', '1'), file('image')]), WORDS]),
  form(EDIT, 'a field without a name', [multipart([...NAMED, { value: 'x' }, file('image')]), WORDS]),
  form(EDIT, 'safe mode', [multipart([...NAMED, text('safe_mode', 'true'), file('image')]), WORDS]),
  form(EDIT, 'safe mode as a number', [multipart([...NAMED, text('safe_mode', '1'), file('image')]), WORDS]),
  form(EDIT, 'no boundary', [multipart([...NAMED, file('image')], { contentType: 'multipart/form-data' }), WORDS]),
  form(EDIT, 'another boundary', [
    multipart([...NAMED, file('image')], { contentType: 'multipart/form-data; boundary=other' }),
    WORDS,
  ]),
  form(EDIT, 'no end', [multipart([...NAMED, file('image')], { end: '' }), WORDS]),
  form(EDIT, 'nothing', [multipart([]), WORDS]),
  form(EDIT, 'a text named .png', [multipart([...NAMED, file('image', { value: 'This is a text.' })]), WORDS]),
  form(EDIT, '25 MB', [multipart([...NAMED, file('image', { value: Buffer.alloc(25 * MEGABYTE) })]), WORDS, 413]),
  form(EDIT, '25 MB and a byte', [
    multipart([...NAMED, file('image', { value: Buffer.alloc(25 * MEGABYTE + 1) })]),
    WORDS,
    413,
  ]),
  form(EDITS, 'no file', [multipart(NAMED), invalid('image')]),
  form(EDITS, 'a mask', [multipart([...NAMED, file('image'), file('mask')]), WORDS]),
  form(EDITS, 'eleven files', [multipart([...NAMED, ...Array.from({ length: 11 }, () => file('image[]'))]), WORDS]),
  form(EDITS, 'five results', [multipart([...NAMED, text('n', '5'), file('image')]), invalid('n')]),
  form(EDITS, 'an unknown field', [multipart([...NAMED, text('strength', '1'), file('image')]), INVALID]),
  form(EDITS, 'a text named .png', [multipart([...NAMED, file('image', { value: 'This is a text.' })]), WORDS]),
  form(EDITS, '25 MB', [multipart([...NAMED, file('image[]', { value: Buffer.alloc(25 * MEGABYTE) })]), WORDS, 413]),
  form(MULTI_EDIT, 'eleven files', [
    multipart([...NAMED_BY_ID, ...Array.from({ length: 11 }, () => file('images'))]),
    WORDS,
  ]),
  form(MULTI_EDIT, 'no files', [multipart(NAMED_BY_ID), invalid('images')]),
  form(MULTI_EDIT, 'a field beside the files', [
    multipart([...NAMED_BY_ID, file('images'), text('images', IMAGE)]),
    WORDS,
  ]),
  form(CUTOUT, 'a file and an address', [
    multipart([text('model', 'local-cutout'), text('image_url', 'https://example.com/a.png'), file('image')]),
    WORDS,
  ]),
  form(UPSCALE, 'a scale that is a word', [
    multipart([text('model', 'local-upscale-image'), text('scale', 'two'), file('image')]),
    WORDS,
  ]),
  {
    name: `${EDIT}: JSON that is called a form`,
    path: EDIT,
    call: { raw: { bytes: Buffer.from('{"prompt":"x"}'), contentType: 'multipart/form-data; boundary=x' } },
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${EDIT}: a picture as the body`,
    path: EDIT,
    call: { raw: { bytes: Buffer.from(PICTURE), contentType: 'image/png' } },
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${EDIT}: a body of no type`,
    path: EDIT,
    call: { raw: { bytes: Buffer.from(PICTURE) } },
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${MULTI_EDIT}: JSON that breaks off`,
    path: MULTI_EDIT,
    call: { raw: { bytes: Buffer.from(`{"images":["${IMAGE}`), contentType: 'application/json' } },
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${MULTI_EDIT}: 30 MB of base64 in one picture that is zeros`,
    path: MULTI_EDIT,
    call: {
      raw: {
        bytes: Buffer.from(`{"modelId":"local-edit","prompt":"blur","images":["${'A'.repeat(30 * MEGABYTE)}"]}`),
        contentType: 'application/json',
      },
    },
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${EDIT}: base64 of more than 25 MB`,
    path: EDIT,
    call: {
      raw: {
        bytes: Buffer.from(`{"model":"local-edit","prompt":"blur","image":"${'A'.repeat(34 * MEGABYTE)}"}`),
        contentType: 'application/json',
      },
    },
    ...{ status: 413, body: WORDS },
  },
];
