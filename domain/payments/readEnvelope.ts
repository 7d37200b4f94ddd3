/** Reads the payment header: base64 of JSON, in x402 version 2 or in the older flat shape (WALLET-9). */
import { readHeaderJson } from '../headerJson.ts';
import { isObject, type PaymentEnvelope, type PaymentRefusal } from './envelope.ts';

export type EnvelopeResult = { ok: true; envelope: PaymentEnvelope } | { ok: false; refusal: PaymentRefusal };

/** `topUpUrls`: our addresses; a payment with a resource must name one of them. */
export function readEnvelope(header: string, topUpUrls: readonly string[]): EnvelopeResult {
  const reading = readHeaderJson(header);
  if (!reading.ok) return malformed(`the payment header ${reading.problem}`);
  const content = reading.value;
  if (!isObject(content)) return malformed('the payment header must carry one JSON object');
  const { x402Version, payload } = content;
  if (x402Version !== 1 && x402Version !== 2) return malformed('x402Version must be 2, or 1');
  if (!isObject(payload)) return malformed('payload must be an object');
  return content.accepted === undefined
    ? readFlat(content, { x402Version, payload })
    : readSecond(content, { x402Version, payload }, topUpUrls);
}

type Common = Pick<PaymentEnvelope, 'x402Version' | 'payload'>;

function readFlat(content: Readonly<Record<string, unknown>>, common: Common): EnvelopeResult {
  const { scheme, network, resource, extensions } = content;
  if (typeof scheme !== 'string' || typeof network !== 'string') {
    return malformed('the payment names neither "accepted" nor both "scheme" and "network"');
  }
  if (resource !== undefined || extensions !== undefined) return mixed();
  return { ok: true, envelope: { ...common, scheme, network, accepted: undefined, resourceUrl: undefined } };
}

function readSecond(
  content: Readonly<Record<string, unknown>>,
  common: Common,
  topUpUrls: readonly string[],
): EnvelopeResult {
  const { accepted, resource, scheme: flatScheme, network: flatNetwork, extensions } = content;
  if (common.x402Version !== 2 || flatScheme !== undefined || flatNetwork !== undefined) return mixed();
  if (!isObject(accepted)) return malformed('accepted must be an object');
  if (extensions !== undefined && !isObject(extensions)) return malformed('extensions must be an object');
  const { scheme, network } = accepted;
  if (typeof scheme !== 'string') return malformed('accepted.scheme must be text');
  if (typeof network !== 'string') return malformed('accepted.network must be text');
  const resourceUrl = isObject(resource) ? resource.url : resource;
  if (resource !== undefined && (!isObject(resource) || typeof resourceUrl !== 'string')) {
    return malformed('resource must be an object with a text as its url');
  }
  if (typeof resourceUrl === 'string' && !topUpUrls.some((url) => isSamePlace(resourceUrl, url))) {
    return refused({
      code: 'INVALID_PAYMENT',
      message: 'the payment is for another resource than the top-up',
    });
  }
  const named = typeof resourceUrl === 'string' ? resourceUrl : undefined;
  return { ok: true, envelope: { ...common, scheme, network, accepted, resourceUrl: named } };
}

/** Compared after parsing, since a text prefix is no origin ("https://api.example@evil.test"). */
function isSamePlace(named: string, ours: string): boolean {
  if (!URL.canParse(named)) return false;
  const [theirs, own] = [new URL(named), new URL(ours)];
  if (theirs.username !== '' || theirs.password !== '') return false;
  return theirs.origin === own.origin && theirs.pathname === own.pathname;
}

function mixed(): EnvelopeResult {
  return malformed('the payment mixes x402 version 2 ("accepted") with the flat shape ("scheme", "network")');
}

function malformed(message: string): EnvelopeResult {
  return refused({ code: 'INVALID_PAYMENT_FORMAT', message });
}

function refused(refusal: PaymentRefusal): EnvelopeResult {
  return { ok: false, refusal };
}
