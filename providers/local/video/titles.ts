/**
 * Shows the sentences of a prompt as titles over a moving gradient whose colours depend on the prompt. The text comes
 * from files, so no filter parses it.
 */
import { createHash } from 'node:crypto';
import type { PixelSize } from '../../../domain/images/images.ts';
import { FONT_PATH, shippedFont } from './fontWidths.ts';
import { FRAMES_PER_SECOND, toEven } from './frames.ts';

export interface TextFile {
  path: string;
  text: string;
}

export interface TitledClip {
  prompt: string;
  size: PixelSize;
  frames: number;
  /** Returns the path for a file name. */
  pathOf: (name: string) => string;
}

/** Filter chains that end in `[out]`: yuv420p of `size` with `frames` frames. Write the files before the run. */
export function titledClip({ prompt, size, frames, pathOf }: TitledClip): {
  chains: string[];
  files: TextFile[];
} {
  const seconds = frames / FRAMES_PER_SECOND;
  const scenes = sceneTexts(prompt, seconds);
  const fontSize = fontSizeIn(size);
  const files = scenes.map((text, scene) => {
    return { path: pathOf(`title${scene}.txt`), text: titleLines(text, size).join('\n') };
  });
  const titles = files.map(({ path }, scene) => {
    const [start, end] = [scene, scene + 1].map((bound) => ((bound * seconds) / scenes.length).toFixed(3));
    return [
      `drawtext=fontfile=${optionValue(FONT_PATH)}:textfile=${optionValue(path)}:expansion=none`,
      `fontsize=${fontSize}:line_spacing=${Math.round(fontSize * 0.25)}:x='(w-text_w)/2':y='(h-text_h)/2'`,
      `fontcolor=white:borderw=${Math.ceil(fontSize / 22)}:bordercolor=black@0.4`,
      `alpha='clip(2*(t-${start}),0,1)':enable='gte(t,${start})*lt(t,${end})'`,
    ].join(':');
  });
  return { chains: [[gradient(prompt, { size, frames }), ...titles].join(',').concat('[out]')], files };
}

/** Colours are dark enough for white letters. */
function gradient(prompt: string, { size, frames }: Pick<TitledClip, 'size' | 'frames'>): string {
  const digest = createHash('sha256').update(prompt).digest();
  const channel = (at: number) => (16 + (digest.readUInt8(at) >> 1)).toString(16).padStart(2, '0');
  const colours = [0, 1, 2].map((at) => `c${at}=0x${[0, 1, 2].map((part) => channel(3 * at + part)).join('')}`);
  // Drawn small and scaled up: cheaper, and looks the same.
  const small = `${toEven(size.width / 4)}x${toEven(size.height / 4)}`;
  const options = [`s=${small}`, `r=${FRAMES_PER_SECOND}`, 'n=3', ...colours, `seed=${digest.readUInt16BE(9)}`];
  const turning = `gradients=${options.join(':')}:speed=${(0.6 / frames).toFixed(5)}`;
  const shown = `scale=${size.width}:${size.height}:flags=bicubic:out_color_matrix=bt709:out_range=tv`;
  return `${turning},trim=end_frame=${frames},${shown},format=yuv420p,setsar=1`;
}

/** Width limits the font size of narrow frames, height that of wide ones. */
export function fontSizeIn({ width, height }: PixelSize): number {
  return Math.round(Math.min(height, width * 0.75) * 0.08);
}

const WIDTH_SHARE = 0.8;
const MAX_LINES = 6;

/** Wraps at spaces, breaks words that are too wide, and cuts excess text with an ellipsis. */
export function titleLines(text: string, size: PixelSize): string[] {
  const width = (size.width * WIDTH_SHARE) / fontSizeIn(size);
  const lines: string[] = [];
  let rest = [...text];
  while (rest.length > 0 && lines.length < MAX_LINES) {
    const most = fittingCount(rest, width);
    const space = most < rest.length ? rest.lastIndexOf(' ', most) : -1;
    const end = space > 0 ? space : most;
    lines.push(rest.slice(0, end).join(''));
    rest = rest.slice(rest[end] === ' ' ? end + 1 : end);
  }
  return rest.length === 0 ? lines : [...lines.slice(0, -1), `${lines.at(-1)}…`];
}

/** Number of characters that fit into a line; at least one. */
function fittingCount(characters: readonly string[], width: number): number {
  let left = width;
  const beyond = characters.findIndex((character) => {
    left -= shippedFont().widthOf(character);
    return left < 0;
  });
  return beyond < 0 ? characters.length : Math.max(1, beyond);
}

/** Escapes a value in ffmpeg's filter syntax: once for the option list, once for the graph. */
export function optionValue(value: string): string {
  return value.replaceAll(/[\\':]/g, '\\$&').replaceAll(/[\\'[\],;]/g, '\\$&');
}

/** Shortest time in which a text can be read. */
const MIN_SECONDS = 2;
const MAX_SCENES = 10;
/** Longer text is never shown, so it need not be typeset. */
const MAX_TEXT_LENGTH = 400;
/** Characters without a glyph: control and format characters, variation selectors, lone surrogates. */
const INVISIBLE = /\p{C}|\p{Variation_Selector}/gu;
/** After an end mark, also of other scripts, or at an empty line. */
const SENTENCE_END = /(?<=[.!?…。！？؟।]["'”’»)]?)\s+|(?<=[。！？])|\n+/u;

/** Returns one text per scene, at most as many as can be read in the time. One empty text means nothing to show. */
export function sceneTexts(prompt: string, seconds: number): string[] {
  const sentences = paragraphs(prompt.normalize('NFC'))
    .split(SENTENCE_END)
    .map((sentence) => plain(sentence))
    .filter((sentence) => /[\p{L}\p{N}\p{S}]/u.test(sentence));
  const most = Math.max(1, Math.min(MAX_SCENES, Math.floor(seconds / MIN_SECONDS)));
  const count = Math.min(most, sentences.length);
  if (count === 0) return [''];
  const bounds = Array.from({ length: count + 1 }, (_, index) => Math.round((index * sentences.length) / count));
  return bounds
    .slice(1)
    .map((end, index) => [...sentences.slice(bounds[index], end).join(' ')].slice(0, MAX_TEXT_LENGTH).join(''));
}

/** Joins the lines of each paragraph. Splitting into lines first keeps long runs of blanks cheap. */
function paragraphs(prompt: string): string {
  const lines = prompt.split(/\r\n|[\n\r\u2028\u2029]/u).map((line) => line.trim());
  return lines.map((line) => (line === '' ? '\n' : `${line} `)).join('');
}

function plain(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').trim();
}
