/** Images of a subject with a known mask, drawn over uneven, grainy backgrounds. */
import sharp from 'sharp';

export interface Scene {
  name: string;
  /** PNG. */
  picture: Buffer;
  /** One byte a pixel: 255 is the subject. */
  mask: Buffer;
}

const WIDTH = 480;
const HEIGHT = 400;

interface Drawing {
  shape: string;
  colour: string;
  background: [string, string];
}

const SHAPES: Record<string, Drawing> = {
  bottle: {
    shape:
      '<path d="M220 60h40v70c0 20 40 30 40 70v150a20 20 0 0 1-20 20h-80a20 20 0 0 1-20-20V200c0-40 40-50 40-70z"/>',
    colour: '#1f7a3c',
    background: ['#d9d3c7', '#b7aa96'],
  },
  portrait: {
    shape: '<circle cx="240" cy="130" r="70"/><path d="M90 400c0-120 60-190 150-190s150 70 150 190z"/>',
    colour: '#a8452f',
    background: ['#7f95a8', '#b9c6d0'],
  },
  'two parts': {
    shape: '<rect x="90" y="120" width="120" height="190" rx="14"/><circle cx="330" cy="215" r="85"/>',
    colour: '#7a1fa0',
    background: ['#dfe6c8', '#c2cf9f'],
  },
  star: {
    shape: '<path d="M240 50l44 108 116 9-89 75 28 113-99-61-99 61 28-113-89-75 116-9z"/>',
    colour: '#f4f4f0',
    background: ['#8a4f2d', '#5f351c'],
  },
  'dark on dusk': {
    shape: '<ellipse cx="250" cy="210" rx="150" ry="95"/><rect x="230" y="80" width="40" height="100"/>',
    colour: '#151515',
    background: ['#6a7fb0', '#d79a6a'],
  },
  ring: {
    shape: '<path fill-rule="evenodd" d="M240 60a140 140 0 1 0 .1 0zM240 125a75 75 0 1 1 -.1 0z"/>',
    colour: '#b0302a',
    background: ['#d9d3c7', '#b7aa96'],
  },
  mug: {
    shape:
      '<rect x="120" y="120" width="150" height="180" rx="16"/><path fill-rule="evenodd" d="M265 150h50a60 60 0 0 1 0 120h-50v-30h45a30 30 0 0 0 0-60h-45z"/>',
    colour: '#274b8f',
    background: ['#e4e0d6', '#c9c2b0'],
  },
};

export function makeScenes(): Promise<Scene[]> {
  return Promise.all(
    Object.entries(SHAPES).map(async ([name, { shape, colour, background }], index) => {
      const [from, to] = background;
      const draw = (inner: string) =>
        Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">${inner}</svg>`);
      const sky = `<linearGradient id="g" x2=".4" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient>`;
      const smooth = draw(`${sky}<rect width="100%" height="100%" fill="url(#g)"/><g fill="${colour}">${shape}</g>`);
      const mask = await sharp(draw(`<rect width="100%" height="100%"/><g fill="#fff">${shape}</g>`))
        .extractChannel(0)
        .raw()
        .toBuffer();
      return { name, picture: await grainy(smooth, index + 1), mask };
    }),
  );
}

/** Adds camera noise, the same in every run. */
async function grainy(svg: Buffer, seed: number): Promise<Buffer> {
  const { data, info } = await sharp(svg).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let state = seed;
  for (let at = 0; at < data.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    data[at] = Math.min(Math.max((data[at] ?? 0) + ((state >>> 24) % 21) - 10, 0), 255);
  }
  const { width, height } = info;
  return sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** Intersection over union of a mask with the pixels of at least half alpha. */
export async function overlap(cut: string, mask: Buffer): Promise<number> {
  const alpha = await sharp(cut).extractChannel(3).raw().toBuffer();
  let [both, any] = [0, 0];
  for (let pixel = 0; pixel < mask.length; pixel += 1) {
    const mine = (alpha[pixel] ?? 0) >= 128;
    const theirs = (mask[pixel] ?? 0) >= 128;
    if (mine && theirs) both += 1;
    if (mine || theirs) any += 1;
  }
  return both / any;
}
