/** What a scene looks like, read out of its words: a place, a weather and colours. The same words give the same theme. */
import { createHash } from 'node:crypto';

const PLACES = ['hills', 'forest', 'sea', 'city', 'space', 'drift', 'fractal', 'cells'] as const;
export type Place = (typeof PLACES)[number];
export type Weather = 'rain' | 'snow' | 'embers';

/** Red, green, blue, 0 to 255. */
export type Colour = readonly [number, number, number];

interface Palette {
  skyTop: Colour;
  skyLow: Colour;
  far: Colour;
  near: Colour;
  /** Sun, moon, windows, foam. */
  light: Colour;
}

export interface Theme {
  place: Place;
  weather?: Weather;
  palette: Palette;
  dark: boolean;
  /** For what is left to chance: 0 up to 65,535. */
  seed: number;
}

const PLACE_WORDS: Record<Place, string> = {
  hills: 'hill mountain valley peak land field meadow desert dune canyon farm road journey horizon',
  forest: 'forest wood tree pine jungle leaf garden park deer fox wolf bird autumn',
  sea: 'sea ocean wave beach water lake river ship boat island fish whale coast harbour harbor shore sail',
  city: 'city town street building skyline urban traffic tower house office market car neon downtown crowd',
  space: 'space star planet galaxy moon universe cosmos cosmic astronaut rocket nebula orbit comet alien',
  drift: 'love calm soft light abstract music thought mind peace gentle happy product brand colour color',
  fractal: 'dream magic infinite fractal mathematics math psychedelic mystery spiral portal spell wizard',
  cells: 'computer data code robot digital network cell machine internet software pixel technology science',
};

const WEATHER_WORDS: Record<Weather, string> = {
  rain: 'rain rainy raining storm stormy drizzle thunder downpour',
  snow: 'snow snowy snowing winter frost blizzard ice christmas',
  embers: 'fire flame ember spark volcano lava dragon candle firefly fireflies',
};

type Mood = 'day' | 'sunset' | 'dawn' | 'night' | 'grey' | 'winter' | 'desert' | 'fire' | 'neon';

const MOOD_WORDS: Record<Mood, string> = {
  night:
    'night midnight dark darkness moon star stars space galaxy cosmos universe planet astronaut nebula rocket',
  sunset: 'sunset dusk evening golden autumn twilight',
  dawn: 'dawn sunrise morning spring blossom flower flowers',
  grey: 'rain rainy raining storm stormy fog foggy mist misty cloudy grey gray thunder',
  winter: 'snow snowy snowing winter ice frost blizzard christmas cold',
  desert: 'desert sand dune dunes canyon savanna summer',
  fire: 'fire flame lava volcano dragon inferno ember',
  neon: 'neon cyberpunk disco party computer robot digital cyber technology network code data',
  day: 'day sun sunny sky noon bright meadow field beach',
};

const MOODS: Record<Mood, Palette & { dark: boolean }> = {
  day: mood([58, 132, 214], [190, 224, 246], [112, 152, 172], [42, 92, 66], [255, 246, 205]),
  sunset: mood([66, 42, 102], [248, 146, 86], [142, 74, 100], [46, 26, 52], [255, 222, 150]),
  dawn: mood([112, 142, 206], [252, 204, 186], [160, 132, 168], [64, 66, 104], [255, 240, 214]),
  night: { ...mood([6, 10, 34], [36, 52, 104], [26, 36, 76], [8, 12, 30], [240, 238, 214]), dark: true },
  grey: { ...mood([62, 74, 90], [140, 152, 164], [92, 104, 118], [38, 46, 56], [214, 222, 230]), dark: true },
  winter: mood([106, 146, 188], [226, 236, 246], [160, 182, 204], [84, 108, 136], [255, 255, 255]),
  desert: mood([84, 152, 204], [250, 222, 170], [214, 156, 100], [142, 84, 48], [255, 244, 206]),
  fire: { ...mood([26, 8, 12], [176, 48, 16], [96, 24, 16], [24, 8, 8], [255, 190, 80]), dark: true },
  neon: { ...mood([16, 8, 44], [120, 26, 128], [48, 24, 104], [10, 8, 30], [64, 232, 244]), dark: true },
};

function mood(skyTop: Colour, skyLow: Colour, ...rest: readonly [Colour, Colour, Colour]) {
  const [far, near, light] = rest;
  return { skyTop, skyLow, far, near, light, dark: false };
}

/** Hue in degrees, and saturation. */
const COLOUR_WORDS: Record<string, readonly [number, number]> = {
  red: [2, 0.65],
  crimson: [348, 0.65],
  orange: [26, 0.7],
  gold: [42, 0.65],
  yellow: [50, 0.7],
  green: [130, 0.45],
  emerald: [150, 0.55],
  turquoise: [176, 0.55],
  teal: [184, 0.5],
  blue: [215, 0.6],
  purple: [276, 0.5],
  violet: [266, 0.5],
  pink: [332, 0.6],
  brown: [24, 0.4],
};

/** Words of a scene come first, then those of the whole prompt, then chance. */
export function themeOf(text: string, prompt: string): Theme {
  const digest = createHash('sha256').update(`${prompt}\0${text}`).digest();
  const seed = digest.readUInt16BE(0);
  const [own, all] = [wordsOf(text), wordsOf(prompt)];
  const place = named(PLACE_WORDS, own) ?? named(PLACE_WORDS, all) ?? PLACES[seed % 4];
  const weather = named(WEATHER_WORDS, own);
  const moods: Mood[] = ['day', 'sunset', 'dawn', 'night'];
  const found = named(MOOD_WORDS, own) ?? (place === 'space' ? 'night' : named(MOOD_WORDS, all));
  const { dark, ...palette } = MOODS[found ?? moods[(seed >> 4) % 4] ?? 'day'];
  const colour = own.find((word) => Object.hasOwn(COLOUR_WORDS, word));
  return {
    place: place ?? 'hills',
    ...(weather === undefined ? {} : { weather }),
    palette: colour === undefined ? palette : tinted(palette, COLOUR_WORDS[colour] ?? [0, 0]),
    dark,
    seed,
  };
}

/** At most so many words decide; a prompt may have thousands. */
const MOST_WORDS = 600;

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/\p{L}+/gu) ?? []).slice(0, MOST_WORDS);
}

/** The row that the first known word stands in; a plural counts as its word. */
function named<Name extends string>(rows: Record<Name, string>, words: readonly string[]): Name | undefined {
  const names = Object.entries(rows) as [Name, string][];
  for (const word of words) {
    const singular = word.replace(/e?s$/, '');
    const row = names.find(([, listed]) => {
      const known = listed.split(' ');
      return known.includes(word) || known.includes(singular) || known.includes(word.replace(/s$/, ''));
    });
    if (row !== undefined) return row[0];
  }
  return undefined;
}

/** Every colour keeps its lightness and takes the hue. */
function tinted(palette: Palette, [hue, saturation]: readonly [number, number]): Palette {
  const tint = (colour: Colour) => {
    const lightness = (Math.max(...colour) + Math.min(...colour)) / 510;
    return fromHue(hue, saturation, lightness);
  };
  const { skyTop, skyLow, far, near, light } = palette;
  return { skyTop: tint(skyTop), skyLow: tint(skyLow), far: tint(far), near: tint(near), light };
}

function fromHue(hue: number, saturation: number, lightness: number): Colour {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const place = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
