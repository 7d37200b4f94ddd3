/** Runs in the image child only: draws a test card. Equal input gives equal bytes. */
import type { Colour } from '../../domain/images/editing/plan.ts';
import { CENTRE } from '../../domain/images/editing/plan.ts';
import type { ImageFormat } from '../../domain/images/images.ts';
import { add, type Canvas, fromPixels } from './editCanvas.ts';
import { write as writeText } from './editLayers.ts';
import { ENCODERS } from './finish.ts';
import type { ImageFacts } from './imageFacts.ts';
import { write } from './plain.ts';

export interface TestCardInput {
  width: number;
  height: number;
  /** From left to right. */
  bars: readonly Colour[];
  /** Centred on a dark field. */
  lines: readonly string[];
  fontPath: string;
  format: ImageFormat;
  target: string;
}

const FIELD = { share: 0.5, colour: { r: 16, g: 18, b: 24, alpha: 1 } };

export async function testCard(input: TestCardInput): Promise<ImageFacts> {
  const { width, height, lines, fontPath, format, target } = input;
  const picture = fromPixels({ data: barsOf(input), width, height, channels: 3 });
  const canvas: Canvas = { picture, width, height, last: 0 };
  const field = { width, height: Math.max(1, Math.round(height * FIELD.share)) };
  const top = Math.round((height - field.height) / 2);
  await add(canvas, 'composite', (card) =>
    card.composite([{ input: { create: { ...field, channels: 4, background: FIELD.colour } }, left: 0, top }]),
  );
  const longest = Math.max(...lines.map((line) => line.length), 1);
  const pixels = Math.max(6, Math.floor(Math.min(width / (longest * 0.68), field.height / (lines.length * 1.5))));
  await writeText(
    canvas,
    {
      do: 'text',
      text: lines.join('\n'),
      anchor: CENTRE,
      colour: { red: 255, green: 255, blue: 255 },
      size: { pixels },
    },
    fontPath,
  );
  return write(ENCODERS[format](canvas.picture), target, format);
}

/** Colour bars above a ramp from black to white. */
function barsOf({ width, height, bars }: TestCardInput): Buffer {
  const [bar, ramp] = [Buffer.alloc(width * 3), Buffer.alloc(width * 3)];
  for (let x = 0; x < width; x += 1) {
    const colour = bars[Math.floor((x * bars.length) / width)] ?? { red: 0, green: 0, blue: 0 };
    bar.set([colour.red, colour.green, colour.blue], x * 3);
    ramp.fill(Math.round((255 * x) / Math.max(1, width - 1)), x * 3, x * 3 + 3);
  }
  const data = Buffer.alloc(width * height * 3);
  const rampFrom = Math.round(height * 0.9);
  for (let y = 0; y < height; y += 1) (y < rampFrom ? bar : ramp).copy(data, y * width * 3);
  return data;
}
