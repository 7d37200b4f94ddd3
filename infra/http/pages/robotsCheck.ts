/** Checks a page against its site's robots.txt, which is cached for some minutes. */
import { LRUCache } from 'lru-cache';
import { FareboxError } from '../../../domain/errors.ts';
import { type FetchGuard, TooManyRedirects } from '../guardedGet.ts';
import { guardedPage, PAGE_READER_NAME } from '../guardedPage.ts';
import { parseRobots, type RobotsRules, robotsVerdict } from './robots.ts';

/** `closed`: the server failed, and until it recovers nothing is read (RFC 9309, 2.3.1.4). */
type RobotsState = { rules: RobotsRules } | { closed: string };

export type RobotsCheck = (url: URL, signal: AbortSignal) => Promise<void>;

/** RFC 9309 requires a limit of at least 500 KiB. */
const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 5_000;
const KEPT_MS = 10 * 60_000;
const CLOSED_KEPT_MS = 60_000;
const MAX_SITES = 1_000;
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Estimated bytes of a rule beside its pattern, and of a site beside its rules. */
const BYTES_AROUND = 100;

/** An undecided page is not read: the site may have excluded it. */
const REASONS = {
  excluded: 'Its robots.txt excludes this page.',
  undecided: 'Its robots.txt has too many rules for an address of this length.',
};

/** The check throws `blocked_source` for a page that may not be read, and plain errors for a failed connection. */
export function createRobotsCheck(guard: FetchGuard): RobotsCheck {
  const sites = new LRUCache<string, RobotsState>({
    max: MAX_SITES,
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: sizeOf,
    ttl: KEPT_MS,
  });
  return async (url, signal) => {
    let known = sites.get(url.origin);
    if (known === undefined) {
      known = await ask(guard, url, signal);
      sites.set(url.origin, known, { ttl: 'closed' in known ? CLOSED_KEPT_MS : KEPT_MS });
    }
    if ('closed' in known) throw blocked(`Its robots.txt cannot be read: ${known.closed}.`);
    const verdict = robotsVerdict(known.rules, url);
    if (verdict !== 'allowed') throw blocked(REASONS[verdict]);
  };
}

function sizeOf(known: RobotsState): number {
  const rules = 'rules' in known ? known.rules : [];
  return rules.reduce((bytes, { pattern }) => bytes + BYTES_AROUND + pattern.length, BYTES_AROUND);
}

async function ask(guard: FetchGuard, url: URL, signal: AbortSignal): Promise<RobotsState> {
  const address = new URL('/robots.txt', url).href;
  try {
    const limits = { maxBytes: MAX_BYTES, cut: true, timeoutMs: TIMEOUT_MS, signal };
    const { status, body } = await guardedPage(guard, address, limits);
    if (status >= 500) return { closed: `it answers with status ${status}` };
    return { rules: status >= 200 && status < 300 ? parseRobots(body.toString(), PAGE_READER_NAME) : [] };
  } catch (error) {
    if (error instanceof TooManyRedirects) return { rules: [] };
    throw error;
  }
}

function blocked(why: string): FareboxError {
  return new FareboxError({
    code: 'blocked_source',
    message: `The site does not allow automated access. ${why}`,
  });
}
