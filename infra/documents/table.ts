/** Rows as a model and a person read them. */

export function markdownRow(cells: string[]): string {
  return `| ${cells.map(inCell).join(' | ')} |`;
}

/** The line under the first row, without which a table is none. */
export function markdownRule(columns: number): string {
  return `|${' --- |'.repeat(columns)}`;
}

export function markdownTable(rows: string[][]): string {
  const columns = Math.max(0, ...rows.slice(0, 1).map((row) => row.length));
  const [head, ...rest] = rows.map(markdownRow);
  return head === undefined ? '' : [head, markdownRule(columns), ...rest].join('\n');
}

function inCell(text: string): string {
  return text
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
    .trim();
}
