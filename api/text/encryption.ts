/**
 * End-to-end encryption (TEXT-14): the client encrypts for the enclave of the model, and this service relays what it
 * cannot read. It is on when the client sends its headers to a model that supports it.
 */
import type { TextModel } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { textFeaturesOf } from '../../domain/providerKind.ts';
import type { Config } from '../../infra/config/config.ts';
import type { RouteRequest } from '../http/route.ts';
import { unsupported } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';

type EncryptionRequest = Pick<RouteRequest<ChatBody, unknown, 'buyer'>, 'body' | 'headers'>;

/** Suffixes after `x-service-tee-`, or the brand's name in place of `service`, and the header names of enclaves. */
const HEADERS = {
  'client-pub-key': 'x-client-pub-key',
  'model-pub-key': 'x-model-pub-key',
  'signing-algo': 'x-signing-algo',
} as const;
type Header = keyof typeof HEADERS;
const NAMES = Object.keys(HEADERS) as Header[];

/** Point of secp256k1 in hex: uncompressed, uncompressed without its prefix, or compressed. */
const PUBLIC_KEY = /^(?:0x)?(?:(?:04)?[0-9a-f]{128}|0[23][0-9a-f]{64})$/i;

/**
 * Headers for the provider; undefined: the request is not encrypted. Throws FareboxError `malformed_encryption`, or
 * `unsupported_feature` when the model has no encryption or the request uses a feature that would have to read it.
 */
export function encryptionOf(
  config: Config,
  { body, headers }: EncryptionRequest,
  model: TextModel,
): Record<string, string> | undefined {
  const { enable_e2ee: wished } = body.service_parameters;
  const sent = wished === false ? undefined : sentHeaders(headers, config.brand);
  if (!sent && wished !== true) return undefined;
  if (model.spec.capabilities?.supportsE2EE !== true || !textFeaturesOf(config, model).e2ee) {
    throw unsupported([
      {
        path: 'service_parameters',
        words: `${model.id} does not support end-to-end encryption (enable_e2ee)`,
      },
    ]);
  }
  if (!sent) return undefined;
  const read = whatReads(body);
  if (read.length > 0) {
    throw unsupported(
      read.map(({ path, name }) => ({ path, words: `${name} cannot be used with end-to-end encryption` })),
    );
  }
  return wellFormed(sent);
}

type EncryptionHeaders = Partial<Record<Header, string>>;

function sentHeaders(headers: EncryptionRequest['headers'], brand: Config['brand']): EncryptionHeaders | undefined {
  const sent: EncryptionHeaders = {};
  for (const name of NAMES) {
    for (const prefix of ['service', brand.name, ...brand.aliases]) {
      const value = headers[`x-${prefix.toLowerCase()}-tee-${name}`];
      if (typeof value === 'string') sent[name] ??= value;
    }
  }
  return Object.keys(sent).length === 0 ? undefined : sent;
}

/** Error messages never quote the values: they concern only the client and the enclave. */
function wellFormed(sent: EncryptionHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of NAMES) {
    const value = sent[name];
    if (value === undefined) throw malformed(`the header x-service-tee-${name} is missing`);
    const isFine = name === 'signing-algo' ? value.toLowerCase() === 'ecdsa' : PUBLIC_KEY.test(value);
    if (!isFine) {
      throw malformed(
        `the header x-service-tee-${name} must be ${name === 'signing-algo' ? 'ecdsa' : 'a public key in hex'}`,
      );
    }
    passed[HEADERS[name]] = value;
  }
  return passed;
}

function malformed(words: string): FareboxError {
  return new FareboxError({ code: 'malformed_encryption', message: `End-to-end encryption: ${words}.` });
}

/** Features that would have to read, or add to, the encrypted request. */
function whatReads({ messages, service_parameters: wanted }: ChatBody): { path: string; name: string }[] {
  const settings = [
    wanted.enable_web_search !== 'off' && 'enable_web_search',
    wanted.enable_web_scraping && 'enable_web_scraping',
    wanted.enable_x_search && 'enable_x_search',
    wanted.character_slug !== undefined && 'character_slug',
  ].filter((name) => name !== false);
  const isMedia = messages.some(
    ({ role, content }) => role === 'user' && Array.isArray(content) && content.some(({ type }) => type !== 'text'),
  );
  return [
    ...settings.map((name) => ({ path: 'service_parameters', name })),
    ...(isMedia ? [{ path: 'messages', name: 'a media part' }] : []),
  ];
}
