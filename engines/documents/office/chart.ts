/** Reads the numbers that a document stores for a chart: a row for each category. */
import { type MarkupHandler, walkPart } from '../markup.ts';
import { markdownTable } from '../table.ts';
import type { Archive } from '../zip.ts';
import { plainNumber } from './cellFormats.ts';

interface Series {
  name: string;
  categories: string[];
  values: string[];
}

/** Series of a scatter chart have x and y values instead of categories and values. */
const PARTS: Record<string, keyof Series> = {
  tx: 'name',
  cat: 'categories',
  xVal: 'categories',
  val: 'values',
  yVal: 'values',
};

/** Returns the title, if any, and the table. */
export async function readChart(archive: Archive, part: string): Promise<string[]> {
  const walk = new ChartWalk();
  await walkPart(archive, part, walk);
  const title = walk.title.trim();
  const rows = rowsOf(walk.series);
  return [...(title === '' ? [] : [`Chart: ${title}`]), ...(rows.length > 1 ? [markdownTable(rows)] : [])];
}

function rowsOf(series: Series[]): string[][] {
  const categories = series.reduce<string[]>(
    (longest, each) => (each.categories.length > longest.length ? each.categories : longest),
    [],
  );
  const count = series.reduce((most, each) => Math.max(most, each.values.length), categories.length);
  const head = ['', ...series.map(({ name }) => name)];
  const rows = Array.from({ length: count }, (_, index) => [
    categories[index] ?? String(index + 1),
    ...series.map(({ values }) => shown(values[index] ?? '')),
  ]);
  return [head, ...rows];
}

function shown(value: string): string {
  const number = Number(value);
  return value.trim() === '' || !Number.isFinite(number) ? value : plainNumber(number);
}

class ChartWalk implements MarkupHandler {
  readonly series: Series[] = [];
  title = '';
  #part: keyof Series | undefined;
  #inSeries = false;
  #inTitle = 0;
  #collects = false;

  open(name: string): void {
    if (name === 'title') this.#inTitle += 1;
    else if (name === 'ser') {
      this.#inSeries = true;
      this.series.push({ name: '', categories: [], values: [] });
    } else if (this.#inSeries && PARTS[name] !== undefined) this.#part = PARTS[name];
    else if (name === 'v') this.#startValue();
    else if (name === 't') this.#collects = this.#inTitle > 0 && this.series.length === 0;
  }

  close(name: string): void {
    if (name === 'title') this.#inTitle -= 1;
    else if (name === 'ser') this.#inSeries = false;
    else if (PARTS[name] !== undefined) this.#part = undefined;
    else if (name === 'v' || name === 't') this.#collects = false;
  }

  text(text: string): void {
    if (!this.#collects) return;
    const series = this.series.at(-1);
    if (series === undefined) this.title += text;
    else if (this.#part === 'name') series.name += text;
    else if (this.#part !== undefined) series[this.#part].push(`${series[this.#part].pop() ?? ''}${text}`);
  }

  #startValue(): void {
    const series = this.series.at(-1);
    this.#collects = this.#inSeries && this.#part !== undefined;
    if (series && this.#part !== undefined && this.#part !== 'name') series[this.#part].push('');
  }
}
