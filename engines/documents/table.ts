import { joinLines } from './joinLines.ts';

/** Rows as a model and a person read them; empty when their cells are. */
export function markdownTable(rows: string[][]): string {
  if (!rows.some((row) => row.some((cell) => cell.trim() !== ''))) return '';
  const columns = rows[0]?.length ?? 0;
  const [head, ...rest] = rows.map(markdownRow);
  return [head, `|${' --- |'.repeat(columns)}`, ...rest].join('\n');
}

/** A row is one line, but the lines of its cells may belong together across them. */
function inCell(text: string): string {
  return joinLines(text.replaceAll('|', '\\|'), '<br>');
}

function markdownRow(cells: string[]): string {
  return `| ${cells.map(inCell).join(' | ')} |`;
}
