/** The word that stands in every simulated picture, drawn here: a machine with ffmpeg need not have a font. */

/** Rows from top to bottom, five pixels each. */
const LETTERS: Record<string, readonly string[]> = {
  S: ['.####', '#....', '#....', '.###.', '....#', '....#', '####.'],
  I: ['#####', '..#..', '..#..', '..#..', '..#..', '..#..', '#####'],
  M: ['#...#', '##.##', '#.#.#', '#.#.#', '#...#', '#...#', '#...#'],
  U: ['#...#', '#...#', '#...#', '#...#', '#...#', '#...#', '.###.'],
  L: ['#....', '#....', '#....', '#....', '#....', '#....', '#####'],
  A: ['.###.', '#...#', '#...#', '#####', '#...#', '#...#', '#...#'],
  T: ['#####', '..#..', '..#..', '..#..', '..#..', '..#..', '..#..'],
  E: ['#####', '#....', '#....', '####.', '#....', '#....', '#####'],
  D: ['####.', '#...#', '#...#', '#...#', '#...#', '#...#', '####.'],
};
const WORD = 'SIMULATED';
/** A letter with the gap after it, and the margins. */
const CELL = 6;
const ROWS = 7;
const MARGIN = 2;
const [WHITE, BLACK] = [255, 0];

/** White on black as a PGM picture, at most 80 % as wide as the picture that it is for. */
export function bannerPgm(pictureWidth: number): Buffer {
  const [cellsWide, cellsHigh] = [WORD.length * CELL + 2 * MARGIN - 1, ROWS + 2 * MARGIN];
  const scale = Math.max(1, Math.floor((pictureWidth * 0.8) / cellsWide));
  const [width, height] = [cellsWide * scale, cellsHigh * scale];
  const pixels = Buffer.alloc(width * height, BLACK);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (isInk(Math.floor(x / scale) - MARGIN, Math.floor(y / scale) - MARGIN))
        pixels[y * width + x] = WHITE;
    }
  }
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`, 'latin1'), pixels]);
}

function isInk(column: number, row: number): boolean {
  const letter = LETTERS[WORD[Math.floor(column / CELL)] ?? ''];
  return letter?.[row]?.[column % CELL] === '#';
}
