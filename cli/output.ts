/** Output of the commands: tables for people, JSON for programs. */

export type Row = Record<string, string | number | boolean | null>;

/** With `--json` prints `json`, otherwise `text`. */
export function print(options: { json?: boolean }, answer: { json: unknown; text: string }): void {
  process.stdout.write(options.json ? `${toJson(answer.json)}\n` : `${answer.text}\n`);
}

/** Indented JSON with bigints as decimal strings. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? inner.toString() : inner), 2);
}

/** Columns follow the keys of the first row, numbers are right-aligned. Without rows the text is `none`. */
export function table(rows: readonly Row[], none: string): string {
  const [first] = rows;
  if (first === undefined) return none;
  const columns = Object.keys(first).map((key) => {
    const cells = rows.map((row) => String(row[key] ?? '-'));
    const width = Math.max(key.length, ...cells.map((cell) => cell.length));
    const right = rows.every((row) => typeof row[key] === 'number');
    return [key.toUpperCase(), ...cells].map((cell) => (right ? cell.padStart(width) : cell.padEnd(width)));
  });
  return Array.from({ length: rows.length + 1 }, (_, line) =>
    columns
      .map((column) => column[line])
      .join('  ')
      .trimEnd(),
  ).join('\n');
}

/** `name: value` lines, names aligned. */
export function list(entries: Row): string {
  const width = Math.max(...Object.keys(entries).map((key) => key.length)) + 1;
  return Object.entries(entries)
    .map(([key, value]) => `${`${key}:`.padEnd(width)} ${value ?? '-'}`)
    .join('\n');
}

export function time(date: Date | null): string | null {
  return date === null ? null : date.toISOString().replace(/\.\d+Z$/, 'Z');
}
