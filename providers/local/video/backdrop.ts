/** The animated background of a scene as a part of a filter graph. It reads nothing: every pixel is generated. */
import { even, FRAMES_PER_SECOND, type Size } from './frames.ts';
import * as paint from './layers.ts';
import type { Colour, Place, Theme, Weather } from './theme.ts';

export interface Backdrop {
  theme: Theme;
  size: Size;
  frames: number;
  /** Before every label of its own. */
  label: string;
}

type Scene = Omit<Backdrop, 'label'>;

/** A picture that stands or moves over those before it. */
interface Layer {
  /** Chain that paints one frame. */
  chain: string;
  /** As shown, in pixels of the frame. */
  size: Size;
  /** What is done to it while it stands, e.g. `scroll=…`. */
  motion?: string;
  /** Where its corner is, in pixels over `n`, the number of the frame. */
  x?: string;
  y?: string;
}

/** Chains that end in `[label]`: yuv420p of the size, so many frames at the frame rate. */
export function backdrop({ label, size: shown, ...wanted }: Backdrop): string[] {
  const scene = { ...wanted, size: composedSize(shown) };
  const { theme, size, frames } = scene;
  const layers = [...LAYERS[theme.place](scene), ...(theme.weather ? WEATHERS[theme.weather](scene) : [])];
  const fit = `scale=${size.width}:${size.height}:flags=bicubic`;
  const clock = `setpts=N/${FRAMES_PER_SECOND}/TB,trim=end_frame=${frames}`;
  const hold = (format: string) => `format=${format},loop=loop=-1:size=1`;
  const moving = MOVING[theme.place]?.(scene);
  const base =
    moving === undefined ? `${skyOf(scene)},${fit},${hold('yuv444p')}` : `${moving},format=yuv444p`;
  const chains = [`${base},${clock}[${label}b0]`];
  for (const [index, layer] of layers.entries()) {
    const shown = `scale=${layer.size.width}:${layer.size.height}:flags=bicubic`;
    const motion = layer.motion === undefined ? '' : `,${layer.motion}`;
    // In 4:4:4 a layer may move by single pixels, in 4:2:0 only by two at a time, which is seen.
    const place = `overlay=x='${layer.x ?? 0}':y='${layer.y ?? 0}':format=yuv444`;
    chains.push(
      `${layer.chain},${shown},${hold('yuva444p')},${clock}${motion}[${label}l${index}]`,
      `[${label}b${index}][${label}l${index}]${place}[${label}b${index + 1}]`,
    );
  }
  return [
    ...chains,
    `[${label}b${layers.length}]format=yuv420p,scale=${shown.width}:${shown.height}:flags=bicubic[${label}]`,
  ];
}

/** As large as layers are painted: they would gain nothing by moving in a larger size, but take four times the memory. */
const MOST_COMPOSED_SIDE = paint.MOST_PAINTED_SIDE;

function composedSize({ width, height }: Size): Size {
  const share = Math.min(1, MOST_COMPOSED_SIDE / Math.max(width, height));
  return { width: even(width * share), height: even(height * share) };
}

/** Where the sky ends and its lower colour is reached. */
const HORIZON = 0.62;

function skyOf({ theme, size }: Scene): string {
  const { skyTop: top, skyLow: low } = theme.palette;
  return paint.sky(paint.paintSize(size), { top, low, at: HORIZON });
}

const LAYERS: Record<Place, (scene: Scene) => Layer[]> = {
  hills: (scene) => [
    ...heaven(scene),
    land(scene, { depth: 0, outline: { base: 0.6, swing: 0.09 } }),
    land(scene, { depth: 0.5, outline: { base: 0.72, swing: 0.07 } }),
    land(scene, { depth: 1, outline: { base: 0.87, swing: 0.05 } }),
  ],
  forest: (scene) => [
    ...heaven(scene),
    land(scene, { depth: 0, outline: { base: 0.64, swing: 0.05 }, shape: paint.firs }),
    land(scene, { depth: 0.5, outline: { base: 0.78, swing: 0.04 }, shape: paint.firs }),
    land(scene, { depth: 1, outline: { base: 0.95, swing: 0.03 }, shape: paint.firs }),
  ],
  sea: (scene) => [
    ...heaven(scene),
    water(scene, { depth: 0, base: 0.64, swing: 0.006 }),
    water(scene, { depth: 0.4, base: 0.72, swing: 0.012 }),
    water(scene, { depth: 0.7, base: 0.81, swing: 0.018 }),
    water(scene, { depth: 1, base: 0.91, swing: 0.024 }),
  ],
  city: (scene) => [...heaven(scene), ...street(scene, 0.3), ...street(scene, 1)],
  space: (scene) => [
    particles(scene, { cell: 40, radius: 2, share: 0.5, speed: [-1, 0] }),
    particles(scene, { cell: 80, radius: 3.4, share: 0.35, speed: [-2, 0] }),
    disc(scene, { share: 1.5, x: 0.66, y: 0.42, colour: scene.theme.palette.light, drift: -1 }),
    land(scene, { depth: 1, outline: { base: 0.93, swing: 0.03 } }),
  ],
  drift: (scene) => [
    particles(scene, { cell: 320, radius: 130, share: 0.5, speed: [-1, 1], alpha: 0.22, soft: 0.5 }),
    particles(scene, { cell: 160, radius: 60, share: 0.3, speed: [1, -1], alpha: 0.3, soft: 0.25 }),
  ],
  fractal: () => [],
  cells: () => [],
};

/** Backgrounds that are not a picture that stands. */
const MOVING: Partial<Record<Place, (scene: Scene) => string>> = {
  drift: ({ theme, size, frames }) => {
    const { palette, seed } = theme;
    const small = { width: even(size.width / 4), height: even(size.height / 4) };
    const colours = [palette.skyTop, palette.far, palette.skyLow].map(
      (each, at) => `c${at}=${paint.hex(each)}`,
    );
    const options = [`s=${small.width}x${small.height}`, 'r=24', 'n=3', ...colours, `seed=${seed}`];
    const turning = `gradients=${options.join(':')}:speed=${(0.6 / frames).toFixed(5)}:d=${frames / FRAMES_PER_SECOND + 1}`;
    return `${turning},format=yuv444p,scale=${size.width}:${size.height}:flags=bicubic`;
  },
  fractal: ({ theme, size, frames }) => {
    const share = Math.min(0.5, 640 / Math.max(size.width, size.height));
    const small = `${even(size.width * share)}x${even(size.height * share)}`;
    const [x, y] = SIGHTS[theme.seed % SIGHTS.length] ?? [0, 0];
    const zoom = `start_x=${x}:start_y=${y}:start_scale=0.02:end_scale=0.0006:end_pts=${frames}`;
    return `mandelbrot=s=${small}:rate=24:maxiter=600:${zoom},${duotone(theme)},scale=${size.width}:${size.height}:flags=bicubic`;
  },
  cells: ({ theme, size }) => {
    const { near, light, far } = theme.palette;
    const cell = Math.max(4, Math.round(Math.min(size.width, size.height) / 48));
    const grid = `${Math.ceil(size.width / cell)}x${Math.ceil(size.height / cell)}`;
    const colours = `life_color=${paint.hex(light)}:death_color=${paint.hex(near)}:mold_color=${paint.hex(far)}`;
    const life = `life=s=${grid}:rate=8:ratio=0.22:mold=12:random_seed=${theme.seed}:${colours}`;
    const grown = `scale=${size.width}:${size.height}:flags=neighbor,gblur=sigma=${(cell / 5).toFixed(1)}`;
    return `${life},fps=24,${grown},eq=brightness=-0.12`;
  },
};

/** Places at the rim of the set that stay rich while one comes near. */
const SIGHTS = [
  [-0.743643887, 0.131825904],
  [-0.761574, -0.0847596],
  [-0.1015, 0.9563],
  [-1.25066, 0.02012],
] as const;

function duotone({ palette: { near, light } }: Theme): string {
  const part = (index: 0 | 1 | 2) => `'${near[index]}+${light[index] - near[index]}*pow(val/255,1.6)*0.75'`;
  return `format=gray,format=gbrp,lutrgb=r=${part(0)}:g=${part(1)}:b=${part(2)}`;
}

const WEATHERS: Record<Weather, (scene: Scene) => Layer[]> = {
  rain: (scene) => {
    const canvas = paint.paintSize(scene.size);
    const size = { width: multiple(canvas.width, 8), height: multiple(canvas.height, 80) };
    const chain = paint.painted(size, [214, 226, 240], paint.streaks(scene.theme.seed));
    return [{ chain, size: scene.size, motion: 'scroll=v=-0.055:h=0.004' }];
  },
  snow: (scene) => [
    particles(scene, { cell: 40, radius: 3, share: 0.3, speed: [0, 2], colour: [255, 255, 255] }),
    particles(scene, { cell: 80, radius: 7, share: 0.35, speed: [1, 4], colour: [255, 255, 255] }),
  ],
  embers: (scene) => [
    particles(scene, { cell: 80, radius: 4, share: 0.35, speed: [1, -3], colour: [255, 176, 72] }),
    particles(scene, { cell: 40, radius: 2, share: 0.18, speed: [-1, -2], colour: [255, 128, 48] }),
  ],
};

/** What is in the sky: stars and a moon by night, a sun by day, but nothing where it rains or snows. */
function heaven(scene: Scene): Layer[] {
  const { theme } = scene;
  if (theme.weather === 'rain' || theme.weather === 'snow') return [];
  const x = 0.2 + 0.6 * ((theme.seed % 97) / 97);
  const body = disc(scene, { share: 0.7, x, y: 0.3, colour: theme.palette.light, drift: 1 });
  if (!theme.dark) return [body];
  return [particles(scene, { cell: 40, radius: 1.8, share: 0.3, speed: [0, 0] }), body];
}

interface Disc {
  /** Its layer's side, of the frame's shorter one; the disc itself is two fifths of it. */
  share: number;
  x: number;
  y: number;
  colour: Colour;
  /** Which way it goes, by a tenth of the height over the whole scene. */
  drift: 1 | -1;
}

function disc({ size, frames }: Scene, { share, x, y, colour, drift }: Disc): Layer {
  const side = even(Math.min(size.width, size.height) * share);
  const painted = Math.min(side, 640);
  return {
    chain: paint.painted({ width: painted, height: painted }, colour, paint.DISC),
    size: { width: side, height: side },
    x: `${Math.round(size.width * x - side / 2)}`,
    y: `${Math.round(size.height * y - side / 2)}-${drift}*n*${((size.height * 0.1) / frames).toFixed(4)}`,
  };
}

interface Land {
  /** 0 far to 1 near: how fast it goes by and how dark it is. */
  depth: number;
  outline: { base: number; swing: number };
  shape?: (outline: { base: number; swing: number; phase: number }) => string;
}

/** How far firs and the highest peaks of a ridge reach above their base, in shares of the height and in swings. */
const FIRS_RISE = 0.23;
const PEAK_SWINGS = 1.85;

function land(scene: Scene, { depth, outline, shape = paint.ridge }: Land): Layer {
  const { theme } = scene;
  const phase = (theme.seed % 61) / 10 + depth * 5;
  const colour = between(theme.palette, depth);
  const rise = outline.swing * PEAK_SWINGS + (shape === paint.firs ? FIRS_RISE : 0);
  return passing(scene, { depth, colour, alpha: shape({ ...outline, phase }), top: outline.base - rise });
}

function street(scene: Scene, depth: number): Layer[] {
  const { palette, seed } = scene.theme;
  const houses = { base: 0.72 + 0.16 * depth, width: 0.08 + 0.05 * depth, phase: (seed % 31) + depth * 7 };
  const top = houses.base - 0.39;
  const walls = {
    top,
    depth,
    colour: between(palette, depth),
    alpha: paint.houses({ ...houses, lit: false }),
  };
  const windows = { top, depth, colour: palette.light, alpha: paint.houses({ ...houses, lit: true }) };
  return [passing(scene, walls), passing(scene, windows)];
}

/** A layer wide enough to go by for the whole scene: the nearer, the faster, by whole pixels for each frame. */
function passing(
  { size, frames }: Scene,
  { depth, colour, alpha, top }: { depth: number; colour: Colour; alpha: string; top: number },
): Layer {
  const wanted = Math.round(((1 + 2 * depth) * Math.min(size.width, size.height)) / 720);
  const step = Math.max(1, Math.min(wanted, Math.floor((size.width * 0.9) / frames)));
  const canvas = paint.paintSize(size);
  const share = canvas.width / size.width;
  // Where there is nothing to see there is nothing to be laid over.
  const cut = Math.round(Math.max(0, top) * canvas.height);
  const shown = { width: even(size.width + step * frames), height: even(size.height - cut / share) };
  const painted = { width: Math.round(shown.width * share), height: canvas.height - cut };
  const chain = paint.painted(painted, colour, paint.below(alpha, cut / canvas.height, canvas.height));
  return { chain, size: shown, x: `-n*${step}`, y: `${size.height - shown.height}` };
}

/** Waves repeat with the width of the frame, so they go round; each row has a beat of its own. */
function water(scene: Scene, { depth, base, swing }: { depth: number; base: number; swing: number }): Layer {
  const { theme, size } = scene;
  const phase = (theme.seed % 61) / 10 + depth * 9;
  const canvas = paint.paintSize(size);
  const cut = Math.round((base - 2 * swing) * canvas.height);
  const room = Math.ceil(canvas.height * 0.02);
  const painted = { width: canvas.width, height: canvas.height - cut + 2 * room };
  const alpha = paint.below(paint.waves({ base, swing, phase }), cut / canvas.height, canvas.height);
  const speed = (depth < 0.5 ? 1 : -1) * (0.0008 + 0.0012 * depth);
  const share = size.height / canvas.height;
  const beat = `${(size.height * 0.008 * (0.5 + depth)).toFixed(2)}*sin(n/${20 - Math.round(6 * depth)}+${phase.toFixed(2)})`;
  return {
    chain: paint.painted(painted, between(theme.palette, depth), alpha),
    size: { width: size.width, height: even(painted.height * share) },
    motion: `scroll=h=${speed.toFixed(5)}`,
    y: `${Math.round(cut * share)}+${beat}`,
  };
}

interface Particles {
  /** Pixels of the painting, as the radius. */
  cell: number;
  radius: number;
  share: number;
  /** Pixels of the painting for each frame, to the right and down. */
  speed: readonly [number, number];
  colour?: Colour;
  alpha?: number;
  soft?: number;
}

function particles({ theme, size }: Scene, wanted: Particles): Layer {
  const canvas = paint.paintSize(size);
  const painted = {
    width: multiple(canvas.width, wanted.cell),
    height: multiple(canvas.height, wanted.cell),
  };
  // Small pictures have smaller dots, or there would be nothing else to see.
  const radius = wanted.radius * Math.min(1, Math.max(0.5, Math.min(canvas.width, canvas.height) / 720));
  const { cell, share, soft = 0.6, alpha = 1 } = wanted;
  const shape = paint.dots({ cell, radius, share, soft, alpha, seed: theme.seed + cell });
  const [across, down] = wanted.speed;
  const scroll = `scroll=h=${(-across / painted.width).toFixed(6)}:v=${(-down / painted.height).toFixed(6)}`;
  return {
    chain: paint.painted(painted, wanted.colour ?? theme.palette.light, shape),
    size,
    ...(across === 0 && down === 0 ? {} : { motion: scroll }),
  };
}

function between({ far, near }: Theme['palette'], depth: number): Colour {
  const at = (index: 0 | 1 | 2) => Math.round(far[index] + (near[index] - far[index]) * depth);
  return [at(0), at(1), at(2)];
}

function multiple(pixels: number, of: number): number {
  return Math.max(1, Math.round(pixels / of)) * of;
}
