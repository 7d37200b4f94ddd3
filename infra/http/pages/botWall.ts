/** Recognises pages that a bot protection returns in place of the requested page. */
import type { FetchedPage } from '../guardedPage.ts';

interface Wall {
  name: string;
  /** Any of these texts in the body. */
  marks: readonly string[];
  header?: (headers: FetchedPage['headers']) => boolean;
}

const WALLS: readonly Wall[] = [
  {
    name: 'Cloudflare',
    marks: ['/cdn-cgi/challenge-platform/', 'cf-browser-verification', '_cf_chl_opt', 'cf-error-details'],
    header: (headers) => headers['cf-mitigated'] !== undefined,
  },
  {
    name: 'DataDome',
    marks: ['captcha-delivery.com', 'geo.captcha-delivery'],
    header: (headers) => headers['x-datadome'] === 'protected' && headers['x-dd-b'] !== undefined,
  },
  { name: 'PerimeterX', marks: ['_pxAppId', 'px-captcha', 'captcha.px-cdn.net', 'perimeterx.net'] },
  {
    name: 'Akamai',
    marks: ['errors.edgesuite.net', 'sec-if-cpt-container', 'akam-sw.js', '/_sec/cp_challenge/'],
  },
  { name: 'Imperva', marks: ['_Incapsula_Resource', 'Incapsula incident ID'] },
  {
    name: 'AWS WAF',
    marks: ['awsWafCookieDomainList', '.awswaf.com/'],
    header: (headers) => /^(challenge|captcha)$/.test(String(headers['x-amzn-waf-action'] ?? '')),
  },
  { name: 'Sucuri', marks: ['sucuri_cloudproxy_js', 'Sucuri WebSite Firewall'] },
  { name: 'Kasada', marks: ['/149e9513-01fa-4fb0-aad4-566afd725d1b/'] },
  { name: 'Anubis', marks: ['anubis_challenge', '.within.website/x/cmd/anubis/'] },
  { name: 'Vercel', marks: ['Vercel Security Checkpoint'] },
  {
    name: 'a captcha',
    marks: ['g-recaptcha', 'h-captcha', 'cf-turnstile', 'hcaptcha.com/captcha', 'Please verify you are a human'],
  },
];
/** Statuses that bot protections answer with. */
const TURNED_AWAY = [401, 403, 405, 429, 503];
const READ_BYTES = 256 * 1024;
/** A page with more text than this is accepted, whatever scripts it contains. */
const CHALLENGE_CHARACTERS = 1_000;

/** Name of the protection, or undefined. `text`: text of the page; undefined before the conversion. */
export function botWall({ status, headers, body }: FetchedPage, text?: string): string | undefined {
  if (!TURNED_AWAY.includes(status) && (text === undefined || text.length > CHALLENGE_CHARACTERS)) return undefined;
  const html = body.toString('latin1', 0, READ_BYTES);
  return WALLS.find((wall) => wall.header?.(headers) || wall.marks.some((mark) => html.includes(mark)))?.name;
}
