/** Value of the first series of a scrape that has these labels; undefined if there is none. */
export function seriesValue(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  for (const line of text.split('\n')) {
    const [, found, inner = '', value] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (found !== name) continue;
    const wanted = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    if (wanted.every((pair) => inner.includes(pair))) return Number(value);
  }
  return undefined;
}
