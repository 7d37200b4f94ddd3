/** robots.txt by RFC 9309, and that the page reader obeys it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseRobots, type RobotsVerdict, robotsVerdict } from '../../../../infra/http/pages/robots.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../../harness/stall.ts';
import type { Behaviour } from '../hostileServer.ts';
import { endless } from '../hostileServer.ts';
import { article, openReaderWorld, page, type ReaderWorld } from './readerWorld.ts';

function verdict(text: string, path: string): RobotsVerdict {
  return robotsVerdict(parseRobots(text, 'Farebox'), new URL(path, 'https://example.com'));
}

function allowed(text: string, path: string): boolean {
  return verdict(text, path) === 'allowed';
}

const ALL = 'User-agent: *\n';

describe('a robots.txt', () => {
  it.each([
    ['nothing excludes nothing', '', '/a', true],
    ['all of it', `${ALL}Disallow: /`, '/a', false],
    ['robots.txt itself is always allowed', `${ALL}Disallow: /`, '/robots.txt', true],
    ['an empty rule', `${ALL}Disallow:`, '/a', true],
    ['a folder', `${ALL}Disallow: /private/`, '/private/a', false],
    ['beside the folder', `${ALL}Disallow: /private/`, '/private', true],
    ['a beginning', `${ALL}Disallow: /fish`, '/fish.html', false],
    ['upper and lower case differ', `${ALL}Disallow: /Fish`, '/fish', true],
    ['the longer rule', `${ALL}Disallow: /a\nAllow: /a/b`, '/a/b/c', true],
    ['the longer rule, the other way', `${ALL}Allow: /a\nDisallow: /a/b`, '/a/b/c', false],
    ['of equal rules the one that allows', `${ALL}Disallow: /a\nAllow: /a`, '/a', true],
    ['a star', `${ALL}Disallow: /*.pdf`, '/x/y.pdf?z', false],
    ['a star and an end', `${ALL}Disallow: /*.pdf$`, '/x/y.pdf', false],
    ['a star and an end, and more', `${ALL}Disallow: /*.pdf$`, '/x/y.pdf?z', true],
    ['an end', `${ALL}Disallow: /a$`, '/a', false],
    ['an end, and more', `${ALL}Disallow: /a$`, '/ab', true],
    ['two stars', `${ALL}Disallow: /*/b/*/d`, '/a/b/c/d', false],
    ['parts that may not overlap', `${ALL}Disallow: /ab*ba$`, '/aba', true],
    ['the query', `${ALL}Disallow: /*?id=`, '/a?id=3', false],
    ['our group before that of all', `${ALL}Disallow: /\n\nUser-agent: farebox\nAllow: /`, '/a', true],
    ['our group, by any case and with a version', `User-agent: FAREBOX/2.0\nDisallow: /`, '/a', false],
    ['a longer name is another', `User-agent: fareboxer\nDisallow: /`, '/a', true],
    ['names that share rules', `User-agent: other\nUser-agent: farebox\nDisallow: /`, '/a', false],
    [
      'groups of one name are one',
      `User-agent: farebox\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: farebox\nDisallow: /b`,
      '/b',
      false,
    ],
    ['the group of another', `User-agent: other\nDisallow: /`, '/a', true],
    ['rules before any name', `Disallow: /\n${ALL}Allow: /b`, '/a', true],
    ['comments and spaces', `# x\n  user-AGENT :  * # all\n\tdisallow : /a # why`, '/a', false],
    ['unknown lines between', `${ALL}Crawl-delay: 10\nSitemap: https://example.com/s.xml\nDisallow: /a`, '/a', false],
    ['carriage returns alone', 'User-agent: *\rDisallow: /a', '/a', false],
    ['a byte order mark', `\ufeff${ALL}Disallow: /a`, '/a', false],
    ['letters of other alphabets', `${ALL}Disallow: /über`, '/%C3%BCber', false],
    ['escapes in lower case', `${ALL}Disallow: /%c3%bcber`, '/über', false],
    ['escapes of plain letters', `${ALL}Disallow: /%61bc`, '/abc', false],
    ['an escaped slash is no slash', `${ALL}Disallow: /a%2fb`, '/a/b', true],
    ['a page of HTML', '<!doctype html><title>Not found</title>', '/a', true],
    ['bytes', '\u0000\u0001\ufffd:\ufffd', '/a', true],
  ])('%s', (_what, text, path, expected) => {
    expect(allowed(text, path)).toBe(expected);
  });

  it('with a repeated name has its rules once, and at most 1,000 of them', () => {
    const repeated = `${'user-agent:*\n'.repeat(10_000)}${'allow:/\n'.repeat(9_000)}`;
    expect(parseRobots(repeated, 'Farebox').length).toBe(1_000);
    const twice = parseRobots('User-agent: *\nUser-agent: *\nDisallow: /a', 'Farebox');
    expect(twice.length).toBe(1);
  });

  it('is undecided if its rules and the URL are too long to compare', () => {
    const rules = (count: number) => `${ALL}${'Allow: /*x\n'.repeat(count)}Disallow: /*/b$`;
    const long = `/${'a'.repeat(8_000)}`;
    expect(verdict(rules(1), `${long}/b`)).toBe('excluded');
    expect(verdict(rules(999), long)).toBe('undecided');
    expect(verdict(rules(999), '/a/b')).toBe('excluded');
    // Rules without a star, and rules with another prefix, are decided at any length.
    expect(verdict(`${ALL}${'Disallow: /b*x\nDisallow: /b\n'.repeat(500)}`, long)).toBe('allowed');
  });

  it('excludes by the prefix of a rule that is too long, and allows nothing by it', () => {
    const beginning = `/${'a'.repeat(4_200)}`;
    expect(verdict(`${ALL}Disallow: ${beginning}b`, `${beginning}c`)).toBe('excluded');
    expect(verdict(`${ALL}Disallow: /a\nAllow: ${beginning}b`, `${beginning}b`)).toBe('excluded');
  });

  it('with repetitive parts matches each part where it first ends', () => {
    const texts = ['', 'a', 'b', 'ab', 'aa', 'aba', 'abab', 'aabaa', 'abaab', 'aabaabaaab'];
    for (const part of texts.slice(1)) {
      for (const path of texts.flatMap((one) => texts.map((two) => `/${one}${two}`))) {
        const isThere = path.slice(1).includes(part);
        expect([part, path, allowed(`${ALL}Disallow: /*${part}`, path)]).toEqual([part, path, !isThere]);
        const twice = path.slice(1).split(part).length > 2;
        expect([part, path, allowed(`${ALL}Disallow: /*${part}*${part}`, path)]).toEqual([part, path, !twice]);
      }
    }
  });

  it('with rules that nearly match everywhere is as fast as any other', () => {
    const run = 'a'.repeat(250);
    const nearMisses = parseRobots(`${ALL}${`Allow: /*${run}b${run}\n`.repeat(1_000)}`, 'Farebox');
    const startMs = ranMs();
    for (const letters of [1_500, 8_100, 15_000]) {
      const url = new URL(`https://example.com/${'a'.repeat(letters)}`);
      for (let turn = 0; turn < 5; turn += 1) robotsVerdict(nearMisses, url);
    }
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });

  it('made to be slow is fast', () => {
    const stars = `${ALL}${`Disallow: /${'a*'.repeat(1_000)}b\n`.repeat(200)}`;
    const startMs = ranMs();
    expect(verdict(stars, `/${'a'.repeat(3_000)}`)).toBe('allowed');
    expect(allowed(`${ALL}${'Disallow: /x\n'.repeat(1_000_000)}`, '/a')).toBe(true);
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});

describe('the page reader', () => {
  let world: ReaderWorld;
  let robots: Behaviour;

  beforeAll(async () => {
    const text = page(article(`<p>${'Words of a page. '.repeat(20)}</p>`));
    const moved: Behaviour = (_, response) => response.writeHead(302, { location: '/private' }).end();
    world = await openReaderWorld({
      '/robots.txt': (request, response) => robots(request, response),
      ...{ '/page': text, '/private': text, '/moved': moved },
      '/policy': page('User-agent: *\nDisallow: /page', 'text/plain'),
      '/round': (_, response) => response.writeHead(302, { location: '/round' }).end(),
    });
  });
  beforeEach(() => {
    world.server.requests.length = 0;
  });
  afterAll(() => world.close());

  const answer = (status: number, body = '', headers = {}): Behaviour => {
    return (_, response) => response.writeHead(status, headers).end(body);
  };
  const EXCLUDED = 'blocked_source: The site does not allow automated access. Its robots.txt excludes this page.';

  it('skips an excluded page, also behind a redirect', async () => {
    robots = page(`${ALL}Disallow: /private`, 'text/plain');
    expect(await world.outcome(world.at('/private'), {})).toBe(EXCLUDED);
    expect(await world.outcome(world.at('/moved'), {})).toBe(EXCLUDED);
    expect(await world.outcome(world.at('/page'), {})).toBe('read');
    expect(world.server.requests.map((request) => request.url)).not.toContain('/private');
  });

  it.each<[string, Behaviour, string]>([
    ['is not there', answer(404), 'read'],
    ['is forbidden', answer(403), 'read'],
    ['redirects', answer(301, '', { location: '/policy' }), EXCLUDED],
    ['redirects without end', answer(301, '', { location: '/round' }), 'read'],
    ['never ends', endless, 'read'],
    ['is larger than what is read', page(`${ALL}Disallow: /page\n${'#'.repeat(600_000)}`), EXCLUDED],
    [
      'cannot be answered now',
      answer(503),
      'blocked_source: The site does not allow automated access. Its robots.txt cannot be read: it answers with status 503.',
    ],
    ['breaks off', (request) => request.socket.destroy(), 'page_failed: The page could not be fetched.'],
  ])('handles a robots.txt that %s', async (_what, behaviour, expected) => {
    robots = behaviour;
    expect(await world.outcome(world.at('/page'), {})).toBe(expected);
  });

  it('reads the file of a site once in several minutes, also at its maximum size', async () => {
    const rules = `Disallow: /private\n${`Allow: /${'a'.repeat(400)}\n`.repeat(1_000)}`;
    robots = page(`${ALL.repeat(2_000)}${rules}`, 'text/plain');
    for (const path of ['/page', '/private', '/page?2', '/nothing']) await world.outcome(world.at(path));
    const asked = world.server.requests.filter((request) => request.url === '/robots.txt');
    expect(asked).toHaveLength(1);
  });
});
