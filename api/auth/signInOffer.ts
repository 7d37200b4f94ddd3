/** Sign-in challenge of the x402 extension `sign-in-with-x` (WALLET-6, CAIP-122). */
import { randomBytes } from 'node:crypto';
import { familyOf } from '../../domain/wallets.ts';
import type { Config } from '../../infra/config/config.ts';

const SIGN_IN_LIFE_MS = 5 * 60_000;

export type SignInOfferConfig = Pick<Config, 'publicUrl' | 'brand' | 'x402'>;

export function signInOffer(config: SignInOfferConfig) {
  return { ...signInChallenge(config), schema: SCHEMA };
}

/** A new challenge. Its nonce is a proposal: wallets may choose their own. */
export function signInChallenge(config: SignInOfferConfig) {
  const now = Date.now();
  return {
    info: {
      domain: new URL(config.publicUrl).host,
      uri: config.publicUrl,
      version: '1',
      nonce: randomBytes(16).toString('hex'),
      issuedAt: new Date(now).toISOString(),
      expirationTime: new Date(now + SIGN_IN_LIFE_MS).toISOString(),
      statement: `Sign in to ${config.brand.name}`,
    },
    supportedChains: chainsOf(config.x402),
  };
}

/** Contract wallets are checked on their chain, so only chains with configured nodes are listed. */
function chainsOf({ signInNetworks, networks }: Config['x402']): { chainId: string; type: string }[] {
  return signInNetworks.flatMap((chainId) => {
    if (familyOf(chainId) === 'solana') return [{ chainId, type: 'ed25519' }];
    const isReachable = networks.some(({ network }) => network === chainId);
    return ['eip191', ...(isReachable ? ['eip1271'] : [])].map((type) => ({ chainId, type }));
  });
}

const TEXT = { type: 'string' };
const TIME = { type: 'string', format: 'date-time' };
const ADDRESS = { type: 'string', format: 'uri' };

/** Schema of the header when the client writes the text itself. */
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    domain: TEXT,
    address: TEXT,
    statement: TEXT,
    uri: ADDRESS,
    version: TEXT,
    chainId: TEXT,
    type: TEXT,
    nonce: TEXT,
    issuedAt: TIME,
    expirationTime: TIME,
    notBefore: TIME,
    requestId: TEXT,
    resources: { type: 'array', items: ADDRESS },
    signature: TEXT,
  },
  required: ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt', 'signature'],
};
