/** Distinguishes challenge pages of bot protections from ordinary pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Behaviour } from '../hostileServer.ts';
import { article, openReaderWorld, page, type ReaderWorld } from './readerWorld.ts';

const HTML = 'text/html; charset=utf-8';
const STORY = `<h1>Story</h1><p>${'A story that goes on for a while. '.repeat(60)}</p>`;

/** Shortened answers in the known format of each service. */
const CHALLENGES: Record<string, Behaviour> = {
  '/cloudflare': page(
    '<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}; a.src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"</script></body></html>',
    HTML,
    403,
  ),
  '/cloudflare-header': (_, response) =>
    response.writeHead(403, { 'content-type': HTML, 'cf-mitigated': 'challenge' }).end('<html></html>'),
  '/cloudflare-blocked': page('<div id="cf-error-details">Sorry, you have been blocked</div>', HTML, 403),
  '/datadome': page("<html><body><script>var dd={'host':'geo.captcha-delivery.com'}</script></body></html>", HTML, 403),
  '/perimeterx': page('<div id="px-captcha"></div><script>window._pxAppId="PX1"</script>', HTML, 403),
  '/akamai': page(
    '<TITLE>Access Denied</TITLE><p>Reference&#32;&#35;18.<p>https&#58;&#47;&#47;errors.edgesuite.net/18.x',
    HTML,
    403,
  ),
  '/imperva': page('<iframe src="/_Incapsula_Resource?CWUDNSAI=1">Request unsuccessful.</iframe>', HTML),
  '/aws': (_, response) => response.writeHead(405, { 'x-amzn-waf-action': 'captcha' }).end('<html></html>'),
  '/anubis': page(
    '<html><title>Making sure you&#39;re not a bot!</title><script id="anubis_challenge" type="application/json">{}</script><body><p>Loading...</p></body></html>',
    HTML,
  ),
  '/captcha': page('<html><body><p>One more step</p><div class="g-recaptcha"></div></body></html>', HTML, 429),
  '/turnstile-only': page(article('<div class="cf-turnstile"></div><p>Checking your browser.</p>'), HTML),
};

const PAGES: Record<string, Behaviour> = {
  ...CHALLENGES,
  '/forbidden': page('<html><body>Members only.</body></html>', HTML, 403),
  '/login': page('<html><body>Who are you?</body></html>', HTML, 401),
  '/busy': page('Come back later', HTML, 503),
  '/story-behind-cloudflare': page(
    article(`${STORY}<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`),
    HTML,
  ),
  '/story-with-captcha': page(article(`${STORY}<form><div class="g-recaptcha"></div></form>`), HTML),
};

let world: ReaderWorld;
beforeAll(async () => {
  world = await openReaderWorld(PAGES);
});
afterAll(() => world.close());

describe('a bot protection', () => {
  it.each(Object.keys(CHALLENGES))('%s is reported as a site that allows no automated access', async (path) => {
    expect(await world.outcome(world.at(path))).toBe(
      'blocked_source: The site does not allow automated access. A bot protection answered instead of the page.',
    );
  });

  it.each(['/forbidden', '/login', '/busy'])('is not detected in the error of %s', async (path) => {
    expect(await world.outcome(world.at(path))).toMatch(/^page_failed: .* answered with status \d+\.$/);
  });

  it.each(['/story-behind-cloudflare', '/story-with-captcha'])('is not detected in %s', async (path) => {
    expect(await world.outcome(world.at(path))).toBe('read');
  });
});
