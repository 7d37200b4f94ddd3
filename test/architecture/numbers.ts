/** Figures of `npm run check -- --numbers`: the size of each floor and the targets of the whole. */
import { readdirSync } from 'node:fs';
import { importCycles } from './cycles.ts';
import { type FileFacts, readFacts } from './facts.ts';
import { FLOORS, floorOf } from './floors.ts';
import { allReferenceViolations } from './references.ts';
import { ownTarget } from './rules.ts';
import { filesWith, ROOT, readSource } from './sources.ts';

const MAX_SOURCE_LINES = 90_774;
const MAX_SMALL_FILES = 40;
/** A shorter file belongs into the only file that imports it. */
const SMALL_FILE_LINES = 40;
const MIN_TEST_RATIO = 0.8;

interface Target {
  name: string;
  value: number;
  /** Largest or smallest allowed value. */
  bound: { max: number } | { min: number };
  /** Counted places. */
  found?: readonly string[];
}

const isTest = ({ path }: FileFacts) => /^(test|examples)\//.test(path);

/** `deadExports` come from knip. `lists` also prints the counted places of a missed target. */
export function printNumbers({ deadExports, lists }: { deadExports: string[]; lists: boolean }): void {
  const files = filesWith((name) => /\.(ts|mjs)$/.test(name), [...FLOORS, 'examples']).map((file) =>
    readFacts(file, readSource(file)),
  );
  const print = (text: string) => process.stdout.write(`${text}\n`);
  print('floor       files  lines  file med/p90/max  function med/p90/max  comments  test ratio');
  for (const floor of [...FLOORS, 'all source']) print(floorRow(floor, files));
  print('');
  for (const { name, value, bound, found = [] } of targetsOf(files, deadExports)) {
    const isReached = 'max' in bound ? value <= bound.max : value >= bound.min;
    const wanted = 'max' in bound ? `at most ${bound.max}` : `at least ${bound.min}`;
    print(`${isReached ? 'reached' : 'missed '}  ${name}: ${value} (${wanted})`);
    if (lists && !isReached) for (const each of found) print(`           ${each}`);
  }
}

function floorRow(floor: string, files: readonly FileFacts[]): string {
  const own = files.filter((facts) => (floor === 'all source' ? !isTest(facts) : floorOf(facts.path) === floor));
  const lines = linesOf(own);
  const functions = own.flatMap((facts) => facts.functions.filter((each) => !each.inline));
  const cells: [string | number, width: number][] = [
    [own.length, 7],
    [lines, 7],
    [spread(own.map((facts) => facts.lines)), 18],
    [spread(functions.map((each) => each.lines)), 22],
    [`${((100 * sum(own.map((facts) => facts.commentLines))) / lines).toFixed(1)}%`, 10],
    [floor === 'test' ? '' : (linesOf(testsOf(floor, files)) / lines).toFixed(2), 12],
  ];
  return floor.padEnd(10) + cells.map(([cell, width]) => String(cell).padStart(width)).join('');
}

function testsOf(floor: string, files: readonly FileFacts[]): FileFacts[] {
  return files.filter(floor === 'all source' ? isTest : ({ path }) => path.startsWith(`test/${floor}/`));
}

function targetsOf(files: readonly FileFacts[], deadExports: string[]): Target[] {
  const sources = files.filter((facts) => !isTest(facts));
  const counted = (name: string, found: readonly string[], max = 0): Target => ({
    ...{ name, found, value: found.length, bound: { max } },
  });
  const tested = (floor: string): Target => {
    const rules = sources.filter(({ path }) => floorOf(path) === floor);
    const ratio = linesOf(testsOf(floor, files)) / linesOf(rules);
    return {
      name: `test ratio of ${floor}/`,
      value: Math.floor(ratio * 100) / 100,
      bound: { min: MIN_TEST_RATIO },
    };
  };
  const cycles = importCycles(files).map((cycle) => cycle.join(' → '));
  return [
    { name: 'source lines (.ts, .mjs)', value: linesOf(sources), bound: { max: MAX_SOURCE_LINES } },
    counted('files under 40 lines that one file imports', smallFiles(sources), MAX_SMALL_FILES),
    counted('loose files in api/', looseFiles('api'), 8),
    counted('loose files in providers/', looseFiles('providers'), 6),
    counted('files in infra/ without deploy/ and SQL', infraFiles(), 200),
    tested('domain'),
    tested('activities'),
    counted('cycles of imports, types included', cycles),
    counted('dead exports', deadExports),
    counted('type names declared again on a floor', repeatedTypes(sources)),
    counted('unresolved references', allReferenceViolations()),
  ];
}

function smallFiles(sources: readonly FileFacts[]): string[] {
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    for (const { specifier } of imports) {
      const target = specifier === undefined ? undefined : ownTarget(path, specifier);
      if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  return sources.flatMap(({ path, lines }) => {
    const [importer, another] = importers.get(path) ?? [];
    const isSmall = lines < SMALL_FILE_LINES && importer !== undefined && another === undefined;
    return isSmall ? [`${path} (${lines}) by ${importer}`] : [];
  });
}

function repeatedTypes(sources: readonly FileFacts[]): string[] {
  const places = new Map<string, string>();
  return sources.flatMap(({ path, types }) =>
    types.flatMap((type) => {
      const name = `${floorOf(path)} ${type}`;
      const before = places.get(name);
      if (before !== undefined) return [`${type}: ${before}, ${path}`];
      places.set(name, path);
      return [];
    }),
  );
}

function looseFiles(folder: string): string[] {
  const entries = readdirSync(ROOT + folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

function infraFiles(): string[] {
  const files = filesWith((name) => !name.endsWith('.sql'), ['infra']);
  return files.filter((file) => /^infra\/(?!deploy\/)/.test(file));
}

function linesOf(files: readonly FileFacts[]): number {
  return sum(files.map((facts) => facts.lines));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Median, 90th percentile and maximum. */
function spread(values: readonly number[]): string {
  const sorted = [...values].sort((left, right) => left - right);
  return [0.5, 0.9, 1].map((part) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0).join('/');
}
