/** robots.txt by RFC 9309: the groups that name us, otherwise those for all; the longest matching pattern decides. */

interface RobotsRule {
  allow: boolean;
  /** Without a final `$`. */
  pattern: string;
  toTheEnd: boolean;
}

/** Longest pattern first, so that the first match decides. */
export type RobotsRules = readonly RobotsRule[];

/** `undecided`: rules and URL are so long that comparing them would block the process. */
export type RobotsVerdict = 'allowed' | 'excluded' | 'undecided';

const MAX_LINES = 20_000;
const MAX_LINE_LETTERS = 4_096;
/** More than any site needs; the rules after them are ignored. */
const MAX_RULES = 1_000;
/** Characters of the URL and of each rule with a star: 1,000 rules and a URL of 1,900 characters. */
const MAX_COMPARED_LETTERS = 2_000_000;

export function parseRobots(text: string, name: string): RobotsRules {
  const groups: { ours?: RobotsRule[]; all?: RobotsRule[] } = {};
  /** A repeated name is one group, to which its rules are added once. */
  const current = new Set<RobotsRule[]>();
  let naming = false;
  for (const { key, value } of linesOf(text)) {
    if (key !== 'user-agent') {
      naming = false;
      for (const group of current) addRule(group, key === 'allow', value);
      continue;
    }
    // Consecutive names share the rules after them; several groups of one name are merged.
    if (!naming) current.clear();
    naming = true;
    const whose = whoseGroup(value, name);
    if (whose !== undefined) {
      groups[whose] ??= [];
      current.add(groups[whose]);
    }
  }
  return (groups.ours ?? groups.all ?? []).sort(
    (left, right) => right.pattern.length - left.pattern.length || Number(right.allow) - Number(left.allow),
  );
}

function addRule(group: RobotsRule[], allow: boolean, value: string): void {
  if (value !== '' && group.length < MAX_RULES) group.push(toRule(allow, value));
}

export function robotsVerdict(rules: RobotsRules, url: URL): RobotsVerdict {
  const path = comparable(`${url.pathname}${url.search}`);
  if (path === '/robots.txt') return 'allowed';
  let lettersLeft = MAX_COMPARED_LETTERS;
  for (const rule of rules) {
    const [first = '', ...rest] = rule.pattern.split(/\*+/);
    if (!path.startsWith(first)) continue;
    if (rest.length > 0) lettersLeft -= path.length + rule.pattern.length;
    if (lettersLeft < 0) return 'undecided';
    if (matchesAfter(path, first.length, { rest, toTheEnd: rule.toTheEnd })) {
      return rule.allow ? 'allowed' : 'excluded';
    }
  }
  return 'allowed';
}

interface RobotsLine {
  key: 'user-agent' | 'allow' | 'disallow';
  value: string;
}

/**
 * Other lines are ignored. An empty rule neither allows nor excludes, but ends the names before it. A rule that is too
 * long is cut: cut `disallow` excludes more than the site asked for, cut `allow` allows nothing.
 */
function linesOf(text: string): RobotsLine[] {
  const lines = text.replace(/^\ufeff/, '').split(/[\r\n]+/, MAX_LINES);
  return lines.flatMap((line): RobotsLine[] => {
    const read = line.slice(0, MAX_LINE_LETTERS);
    const said = read.split('#', 1)[0] ?? '';
    const [, word = '', value = ''] = /^\s*([A-Za-z-]+)\s*:(.*)$/.exec(said) ?? [];
    const key = word.toLowerCase();
    if (key === 'user-agent') return [{ key, value: value.trim() }];
    if (key !== 'allow' && key !== 'disallow') return [];
    const isCut = said.length < line.length && said.length === MAX_LINE_LETTERS;
    return [{ key, value: key === 'allow' && isCut ? '' : value.trim() }];
  });
}

function whoseGroup(agent: string, name: string): 'ours' | 'all' | undefined {
  if (agent.startsWith('*')) return 'all';
  const token = /^[A-Za-z_-]+/.exec(agent)?.[0].toLowerCase();
  return token === name.toLowerCase() ? 'ours' : undefined;
}

function toRule(allow: boolean, value: string): RobotsRule {
  const toTheEnd = value.endsWith('$');
  const pattern = comparable(toTheEnd ? value.slice(0, -1) : value);
  // A copy: a slice would keep the whole file in memory.
  return { allow, pattern: Buffer.from(pattern).toString(), toTheEnd };
}

/** Searches part after part: a regular expression made from a stranger's text could take very long. */
function matchesAfter(path: string, start: number, { rest, toTheEnd }: { rest: string[]; toTheEnd: boolean }): boolean {
  const last = toTheEnd ? rest.pop() : undefined;
  let at = start;
  for (const part of rest) {
    at = endOf(part, path, at);
    if (at < 0) return false;
  }
  if (!toTheEnd) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}

/** For each prefix of a part: length of its longest proper suffix that is a prefix too. */
const repeats = new Uint16Array(3 * MAX_LINE_LETTERS);

/**
 * End of the first occurrence of the part, or -1. The Knuth-Morris-Pratt search reads each text once. `indexOf` takes
 * the product of their lengths for texts that a site chose.
 */
function endOf(part: string, path: string, from: number): number {
  if (part.length > path.length - from) return -1;
  let same = 0;
  for (let at = 1; at < part.length; at += 1) {
    same = extended(part, same, part.charCodeAt(at));
    repeats[at] = same;
  }
  same = 0;
  for (let at = from; at < path.length && same < part.length; at += 1) {
    same = extended(part, same, path.charCodeAt(at));
    if (same === part.length) return at + 1;
  }
  return part.length === 0 ? from : -1;
}

/** Length of the longest prefix that the text ends with after one more letter; `before`: that without it. */
function extended(part: string, before: number, letter: number): number {
  let same = before;
  while (same > 0 && part.charCodeAt(same) !== letter) same = repeats[same - 1] ?? 0;
  return part.charCodeAt(same) === letter ? same + 1 : same;
}

const ESCAPES = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`);

/** Normalizes a path: escapes of unreserved characters are decoded, all other escapes are in upper case. */
function comparable(path: string): string {
  const bytes = /^[\x21-\x7e]*$/.test(path) ? path : Buffer.from(path).toString('latin1');
  return bytes.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/gi, (written) => {
    if (written.length === 1) return ESCAPES[written.charCodeAt(0)] ?? written;
    const character = String.fromCharCode(Number.parseInt(written.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : written.toUpperCase();
  });
}
