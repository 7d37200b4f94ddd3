/** Time that a service keeps a prompt in its cache (TEXT-33). */

const UNIT_SECONDS: Partial<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const NAMED_SECONDS: Partial<Record<string, number>> = { in_memory: 300, extended: 86_400 };

export const RETENTION_TEXT = /^(?:default|extended|in_memory|[1-9]\d{0,5}[smhd])$/;

/** For text that matches RETENTION_TEXT. Undefined: the service's default. */
export function retentionSecondsOf(text: string): number | undefined {
  const unitSeconds = UNIT_SECONDS[text.slice(-1)];
  const isDuration = /^\d/.test(text) && unitSeconds !== undefined;
  return isDuration ? Number(text.slice(0, -1)) * unitSeconds : NAMED_SECONDS[text];
}

/** Lengths of a cache write that have prices of their own. */
export const CACHE_WRITE_SECONDS = { '5m': 300, '1h': 3_600 } as const;

/** Name of the offered length that is nearest; the first of two that are equally near. */
export function nearestRetention<Name extends string>(seconds: number, offered: Readonly<Record<Name, number>>): Name {
  const names = Object.keys(offered) as Name[];
  const distanceOf = (name: Name) => Math.abs(offered[name] - seconds);
  return names.reduce((nearest, name) => (distanceOf(name) < distanceOf(nearest) ? name : nearest));
}
