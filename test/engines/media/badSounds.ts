/** Files that are not accepted recordings, each with a name. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENCODINGS, type Encoding, encode, ffmpeg } from './recordings.ts';

export interface BadSound {
  bytes: Buffer | string;
  /** Default: `file.mp3`. */
  name?: string;
  /** Default: none. */
  type?: string;
}

export type NamedSound = [name: string, sound: () => BadSound];

/** `address`: of a server that must receive no request. */
export function badSounds(folder: string, address: () => string): NamedSound[] {
  return [...PRETENDERS, ...unfit(folder), ...lists(address), ...cutOnes(folder)];
}

export function encoding(name: string): Encoding {
  const found = ENCODINGS.find((each) => each.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** This many seconds of speech. */
export function whole(folder: string, name: string, seconds = 3): Buffer {
  return readFileSync(encode(encoding(name), { folder, seconds }));
}

/** Output of ffmpeg with these options. */
function made(folder: string, name: string, ...options: string[]): Buffer {
  const path = join(folder, name);
  ffmpeg([...options, path]);
  return readFileSync(path);
}

/** Six hours of silence in less than 25 MB. */
export function sixHours(folder: string): Buffer {
  const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '600'];
  const options = [...silence, '-c:a', 'libmp3lame', '-b:a', '8k', '-write_xing', '0'];
  const tenMinutes = made(folder, 'silence.mp3', ...options);
  return Buffer.concat(Array.from({ length: 36 }, () => tenMinutes));
}

const PAGE = Buffer.from(`<html><body>${'<p>words</p>'.repeat(2_000)}</body></html>`);
const ID3 = Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1');
const SINE = ['-f', 'lavfi', '-i', 'sine=frequency=220:duration=2'];
const VIDEO = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=2'];

function after(head: string, body: Buffer | string): Buffer {
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

const PRETENDERS: NamedSound[] = [
  ['nothing', () => ({ bytes: '' })],
  ['a byte', () => ({ bytes: 'x' })],
  ['two bytes of an MP3', () => ({ bytes: Buffer.from([0xff, 0xfb]) })],
  ['noise', () => ({ bytes: randomBytes(100_000), name: 'noise.wav' })],
  ['zeros', () => ({ bytes: Buffer.alloc(100_000), name: 'zeros.flac' })],
  ['a text named .mp3', () => ({ bytes: 'This is a text.\n'.repeat(1_000) })],
  ['a text of audio type', () => ({ bytes: 'This is a text.\n', type: 'audio/wav' })],
  ['a page behind an MP3 frame', () => ({ bytes: after('\xff\xfb\x90\0', PAGE) })],
  ['a page behind an ID3 tag', () => ({ bytes: Buffer.concat([ID3, PAGE]) })],
  ['a page behind fLaC', () => ({ bytes: after('fLaC', PAGE), name: 'a.flac' })],
  ['a page behind OggS', () => ({ bytes: after('OggS\0\x02', PAGE), name: 'a.ogg' })],
  ['a page behind RIFF', () => ({ bytes: after('RIFF\0\0\0\0WAVE', PAGE), name: 'a.wav' })],
  ['a page behind ftyp', () => ({ bytes: after('\0\0\0\x18ftypM4A ', PAGE), name: 'a.m4a' })],
];

function unfit(folder: string): NamedSound[] {
  return [
    [
      'an MP3 that becomes a page',
      () => ({ bytes: Buffer.concat([whole(folder, 'mp3 bare').subarray(0, 1_000), PAGE]) }),
    ],
    ['a WAV of no frames', () => ({ bytes: made(folder, 'none.wav', ...SINE, '-t', '0'), name: 'none.wav' })],
    ['a FLAC of no frames', () => ({ bytes: whole(folder, 'flac').subarray(0, 42), name: 'none.flac' })],
    ['255 channels', () => ({ bytes: insane(folder, { offset: 22, value: 255, bytes: 2 }), name: 'a.wav' })],
    ['no channel', () => ({ bytes: insane(folder, { offset: 22, value: 0, bytes: 2 }), name: 'a.wav' })],
    ['a rate of 0', () => ({ bytes: insane(folder, { offset: 24, value: 0, bytes: 4 }), name: 'a.wav' })],
    ['a rate of 4 GHz', () => ({ bytes: insane(folder, { offset: 24, value: 0xffff_ffff, bytes: 4 }), name: 'a.wav' })],
    ['an AIFF', () => ({ bytes: made(folder, 'sound.aiff', ...SINE), name: 'a.wav' })],
    ['a Matroska', () => ({ bytes: made(folder, 'sound.mka', ...SINE), name: 'a.webm' })],
    ['an AC-3 named .mp3', () => ({ bytes: made(folder, 'sound.ac3', ...SINE) })],
    ['a silent video', () => ({ bytes: made(folder, 'silent.mp4', ...VIDEO, '-c:v', 'mpeg4'), name: 'a.mp4' })],
    [
      'two sounds',
      () => ({
        bytes: made(folder, 'two.m4a', ...SINE, ...SINE, '-map', '0:a', '-map', '1:a', '-c:a', 'aac'),
      }),
    ],
    [
      'a picture',
      () => ({ bytes: made(folder, 'red.png', '-f', 'lavfi', '-i', 'color=red:size=9x9', '-frames:v', '1') }),
    ],
    ['a ZIP', () => ({ bytes: after('PK\x03\x04', randomBytes(1_000)), name: 'a.wav' })],
    ['a PDF', () => ({ bytes: after('%PDF-1.7\n', randomBytes(1_000)) })],
  ];
}

/** A WAV with an impossible number of channels or sample rate in its header. */
function insane(folder: string, { offset, value, bytes }: { offset: number; value: number; bytes: number }): Buffer {
  const wav = Buffer.from(whole(folder, 'wav'));
  wav.writeUIntLE(value, offset, bytes);
  return wav;
}

function lists(address: () => string): NamedSound[] {
  return [
    ['a playlist', () => ({ bytes: `#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10,\n${address()}\n#EXT-X-ENDLIST\n` })],
    [
      'a playlist behind a tag',
      () => ({ bytes: after(ID3.toString('latin1'), `#EXTM3U\n#EXTINF:9,\n${address()}\n`) }),
    ],
    ['a concat', () => ({ bytes: `#EXTM3U\n#EXTINF:10,\nconcat:${address()}|file:///etc/passwd\n` })],
    ['an ffconcat', () => ({ bytes: `ffconcat version 1.0\nfile '${address()}'\n`, name: 'a.wav' })],
    ['a subfile', () => ({ bytes: '#EXTM3U\n#EXTINF:1,\nsubfile,,start,0,end,64,,:/etc/passwd\n' })],
    [
      'a DASH list',
      () => ({ bytes: `<?xml version="1.0"?><MPD><BaseURL>${address()}</BaseURL></MPD>`, name: 'a.mp4' }),
    ],
    ['an SDP', () => ({ bytes: 'v=0\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n', name: 'a.aac' })],
    ['an AVI with a playlist for subtitles', () => ({ bytes: subtitledAvi(address()), name: 'a.mp4' })],
  ];
}

function cutOnes(folder: string): NamedSound[] {
  return ENCODINGS.map(({ name }) => [`${name}, cut`, () => ({ bytes: partOf(whole(folder, name)) })]);
}

function partOf(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length * 0.43) | 1);
}

/** An AVI whose subtitle stream is a playlist, a known way to read local files through a transcoder. */
function subtitledAvi(address: string): Buffer {
  const playlist = Buffer.from(`#EXTM3U\n#EXTINF:1,\n${address}\n#EXT-X-ENDLIST\n`);
  const gab2 = Buffer.concat([Buffer.from('GAB2\0\x02\0\0\0\0\0\x04\0'), Buffer.alloc(4), playlist]);
  const chunk = (id: string, body: Buffer) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(body.length);
    return Buffer.concat([Buffer.from(id), size, body, Buffer.alloc(body.length % 2)]);
  };
  return chunk('RIFF', Buffer.concat([Buffer.from('AVI '), chunk('00tx', gab2)]));
}
