/** Sign-ins without a signature, which the rules do not check. */
export const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
export const EVM_ADDRESS = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
export const SOLANA_ADDRESS = 'D2PHpNfVHjVWYdZpYe8VNfzZGCCWTo4HxqAEWT9Xgybp';
export const SOLANA_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
export const RULES = {
  nowMs: NOW_MS,
  domains: ['api.example.com', '127.0.0.1'],
  networks: ['eip155:8453', `solana:${SOLANA_GENESIS}`],
};

export type Sent = Record<string, unknown>;

const SHARED = {
  domain: 'api.example.com',
  statement: 'Sign in to Farebox',
  uri: 'https://api.example.com/api/v1/models',
  version: '1',
  nonce: '0123456789abcdef',
  issuedAt: '2026-03-01T12:00:00.000Z',
  expirationTime: '2026-03-01T12:05:00.000Z',
};

export const EVM_FIELDS: Sent = {
  ...SHARED,
  address: EVM_ADDRESS,
  chainId: 'eip155:8453',
  type: 'eip191',
  signature: `0x${'1b'.repeat(65)}`,
};

export const SOLANA_FIELDS: Sent = {
  ...SHARED,
  address: SOLANA_ADDRESS,
  chainId: `solana:${SOLANA_GENESIS}`,
  type: 'ed25519',
  signature: '5'.repeat(88),
};

export const EVM_TEXT = `api.example.com wants you to sign in with your Ethereum account:
${EVM_ADDRESS}

Sign in to Farebox

URI: https://api.example.com/api/v1/models
Version: 1
Chain ID: 8453
Nonce: 0123456789abcdef
Issued At: 2026-03-01T12:00:00.000Z
Expiration Time: 2026-03-01T12:05:00.000Z`;

export const SOLANA_TEXT = EVM_TEXT.replace('Ethereum', 'Solana')
  .replace(EVM_ADDRESS, SOLANA_ADDRESS)
  .replace('Chain ID: 8453', `Chain ID: ${SOLANA_GENESIS}`);

export function evmMessage(text = EVM_TEXT): Sent {
  return { address: EVM_ADDRESS, message: text, signature: `0x${'1b'.repeat(65)}`, chainId: 8453 };
}

export function solanaMessage(text = SOLANA_TEXT): Sent {
  return { address: SOLANA_ADDRESS, message: text, signature: '5'.repeat(88), type: 'ed25519' };
}

export function encode(sent: unknown): string {
  return Buffer.from(JSON.stringify(sent)).toString('base64');
}
