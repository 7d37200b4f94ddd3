/** robots.txt as RFC 9309 reads it: the groups that name us, or those for all; the longest pattern that matches decides. */

interface RobotsRule {
  allow: boolean;
  /** Without the `$` that it may have ended in. */
  pattern: string;
  toTheEnd: boolean;
}

/** The longest first: the first one that matches decides. */
export type RobotsRules = readonly RobotsRule[];

/** `undecided`: rules and address are so long that comparing them would keep the process from other requests. */
export type RobotsVerdict = 'allowed' | 'excluded' | 'undecided';

const MAX_LINES = 20_000;
const MAX_LINE_LETTERS = 4_096;
/** More than any site needs; the rules after them are ignored. */
const MAX_RULES = 1_000;
/** Letters of each rule with a star and of the address, again for each rule: 1,000 rules and an address of 1,900 letters. */
const MAX_COMPARED_LETTERS = 2_000_000;

export function parseRobots(text: string, name: string): RobotsRules {
  const groups: { ours?: RobotsRule[]; all?: RobotsRule[] } = {};
  /** A name that is repeated is one group: its rules count once. */
  const current = new Set<RobotsRule[]>();
  let naming = false;
  for (const { key, value } of linesOf(text)) {
    if (key !== 'user-agent') {
      naming = false;
      for (const group of current) addRule(group, key === 'allow', value);
      continue;
    }
    // Names that follow each other share the rules after them; several groups of one name are one.
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
 * Lines of other kinds say nothing. An empty rule allows and excludes nothing, but ends the names before it. Of a rule that
 * is too long the beginning excludes, which is more than the site asked for; it allows nothing.
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
  // A copy: a part of the file's text would keep all of it in memory.
  return { allow, pattern: Buffer.from(pattern).toString(), toTheEnd };
}

/** Without a regular expression made from a stranger's text: each part is looked for after the one before. */
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

/** For each beginning of a part: how many of its last letters are a shorter beginning of the part. */
const repeats = new Uint16Array(3 * MAX_LINE_LETTERS);

/**
 * Where the first occurrence of the part ends, or -1: the search of Knuth, Morris and Pratt, which goes once over either
 * text. `indexOf` takes the product of their lengths where a site chose both.
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

/** Letters of the part that the text ends in after one more letter, where it ended in so many before. */
function extended(part: string, before: number, letter: number): number {
  let same = before;
  while (same > 0 && part.charCodeAt(same) !== letter) same = repeats[same - 1] ?? 0;
  return part.charCodeAt(same) === letter ? same + 1 : same;
}

const ESCAPES = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`);

/** One spelling for each path: what needs no percent sign has none, all else has one in capitals. */
function comparable(path: string): string {
  const bytes = /^[\x21-\x7e]*$/.test(path) ? path : Buffer.from(path).toString('latin1');
  return bytes.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/gi, (written) => {
    if (written.length === 1) return ESCAPES[written.charCodeAt(0)] ?? written;
    const character = String.fromCharCode(Number.parseInt(written.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : written.toUpperCase();
  });
}
