/**
 * What `labels()` of a metric makes, kept: the library checks and builds it anew at each call, several times a request.
 * Benches `front` and `chat`.
 */
interface LabelledMetric<Child> {
  labels(...values: string[]): Child;
}

/** The values of labels are few by design, so nothing is ever forgotten here. */
export function keepLabelled<Child>(metric: LabelledMetric<Child>): (...values: string[]) => Child {
  const known = new Map<string, Child>();
  return (...values) => {
    const name = values.length === 1 ? (values[0] as string) : values.join('\n');
    let child = known.get(name);
    if (child === undefined) {
      child = metric.labels(...values);
      known.set(name, child);
    }
    return child;
  };
}
