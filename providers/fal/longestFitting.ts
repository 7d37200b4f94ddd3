/** The row of the longest beginning of an endpoint id, in whole segments. */
export function longestFitting<Row>(rows: Readonly<Record<string, Row>>, endpoint: string): Row | undefined {
  const segments = endpoint.split('/');
  for (let count = segments.length; count > 0; count -= 1) {
    const beginning = segments.slice(0, count).join('/');
    if (Object.hasOwn(rows, beginning)) return rows[beginning];
  }
  return undefined;
}
