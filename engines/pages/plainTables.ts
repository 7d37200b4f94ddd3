/** Adds empty cells for spanned columns and rows, which Markdown tables lack, so that columns stay aligned. */
import type { PageDocument, PageElement } from './pageDocument.ts';

const MAX_SPAN = 50;
/** Limit per page: cells that each span a thousand columns must not become a million cells. */
const MAX_ADDED_CELLS = 20_000;

export function plainTables(document: PageDocument): void {
  const budget = { cells: MAX_ADDED_CELLS };
  for (const table of document.querySelectorAll('table')) {
    if (table.querySelector('[colspan], [rowspan]') !== null) spread(document, table, budget);
  }
  // A heading in a cell would become a line of number signs.
  for (const heading of document.querySelectorAll('td h1, td h2, td h3, td h4, td h5, td h6')) {
    const strong = document.createElement('strong');
    while (heading.firstChild !== null) strong.appendChild(heading.firstChild);
    heading.replaceWith(strong);
  }
}

function spread(document: PageDocument, table: PageElement, budget: { cells: number }): void {
  /** Remaining rows that the cell above still spans, by column. */
  let reaching: number[] = [];
  for (const row of rowsOf(table)) {
    const places: (PageElement | undefined)[] = [];
    const next: number[] = [];
    const skipReached = () => {
      while ((reaching[places.length] ?? 0) > 0) {
        next[places.length] = (reaching[places.length] ?? 0) - 1;
        places.push(undefined);
      }
    };
    for (const cell of cellsOf(row)) {
      skipReached();
      const rows = takeSpan(cell, 'rowspan');
      for (let column = takeSpan(cell, 'colspan'), first = true; column > 0; column -= 1, first = false) {
        next[places.length] = rows - 1;
        places.push(first ? cell : undefined);
      }
    }
    skipReached();
    reaching = next;
    budget.cells -= places.filter((place) => place === undefined).length;
    if (budget.cells < 0) return;
    for (const place of places) row.appendChild(place ?? document.createElement('td'));
  }
}

function* rowsOf(table: PageElement): Generator<PageElement> {
  for (const child of Array.from(table.children)) {
    if (child.localName === 'tr') yield child;
    else if (['thead', 'tbody', 'tfoot'].includes(child.localName)) yield* rowsOf(child);
  }
}

function cellsOf(row: PageElement): PageElement[] {
  return Array.from(row.children).filter(({ localName }) => localName === 'td' || localName === 'th');
}

function takeSpan(cell: PageElement, name: string): number {
  const span = Number.parseInt(cell.getAttribute(name) ?? '1', 10);
  cell.removeAttribute(name);
  return Number.isNaN(span) ? 1 : Math.min(MAX_SPAN, Math.max(1, span));
}
