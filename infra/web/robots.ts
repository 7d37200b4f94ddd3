/** robots.txt as RFC 9309 reads it: the groups that name us, or those for all; the longest pattern that matches decides. */

interface RobotsRule {
  allow: boolean;
  /** Without the `$` that it may have ended in. */
  pattern: string;
  toTheEnd: boolean;
}

export type RobotsRules = readonly RobotsRule[];

const MAX_LINES = 20_000;
/** More than any site needs; the rules after them are ignored. */
const MAX_RULES = 1_000;

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
  return groups.ours ?? groups.all ?? [];
}

function addRule(group: RobotsRule[], allow: boolean, value: string): void {
  if (value !== '' && group.length < MAX_RULES) group.push(toRule(allow, value));
}

export function robotsAllow(rules: RobotsRules, url: URL): boolean {
  const path = comparable(`${url.pathname}${url.search}`);
  if (path === '/robots.txt') return true;
  let best: RobotsRule | undefined;
  for (const rule of rules) {
    const better =
      best === undefined ||
      rule.pattern.length > best.pattern.length ||
      (rule.pattern.length === best.pattern.length && rule.allow);
    if (better && matches(rule, path)) best = rule;
  }
  return best?.allow ?? true;
}

interface RobotsLine {
  key: 'user-agent' | 'allow' | 'disallow';
  value: string;
}

/** Lines of other kinds say nothing. An empty rule allows and excludes nothing, but ends the names before it. */
function linesOf(text: string): RobotsLine[] {
  const lines = text.replace(/^\ufeff/, '').split(/[\r\n]+/, MAX_LINES);
  return lines.flatMap((line): RobotsLine[] => {
    const said = line.slice(0, 4_096).split('#', 1)[0] ?? '';
    const [, word = '', value = ''] = /^\s*([A-Za-z-]+)\s*:(.*)$/.exec(said) ?? [];
    const key = word.toLowerCase();
    if (key === 'user-agent') return [{ key, value: value.trim() }];
    const isRule = key === 'allow' || key === 'disallow';
    return isRule ? [{ key, value: value.trim() }] : [];
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
function matches({ pattern, toTheEnd }: RobotsRule, path: string): boolean {
  const [first = '', ...rest] = pattern.split(/\*+/);
  if (!path.startsWith(first)) return false;
  const last = toTheEnd ? rest.pop() : undefined;
  let at = first.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  if (!toTheEnd) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}

/** One spelling for each path: what needs no percent sign has none, all else has one in capitals. */
function comparable(path: string): string {
  return path.replace(/[^\x21-\x7e]+/gu, encodeSafely).replace(/%([0-9a-f]{2})/gi, (written, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : written.toUpperCase();
  });
}

function encodeSafely(text: string): string {
  return Buffer.from(text).toString('hex').replace(/../g, '%$&');
}
