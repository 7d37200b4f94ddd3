import { joinLines } from './joinLines.ts';

/** Renders rows as a Markdown table. Empty when all cells are blank. */
export function markdownTable(rows: string[][]): string {
  if (!rows.some((row) => row.some((cell) => cell.trim() !== ''))) return '';
  const columns = rows[0]?.length ?? 0;
  const [head, ...rest] = rows.map(markdownRow);
  return [head, `|${' --- |'.repeat(columns)}`, ...rest].join('\n');
}

/** Line breaks in a cell become `<br>`, because a row is one line and lines of neighbouring cells may correspond. */
function inCell(text: string): string {
  return joinLines(text.replaceAll('|', '\\|'), '<br>');
}

function markdownRow(cells: string[]): string {
  return `| ${cells.map(inCell).join(' | ')} |`;
}
