/** The configuration file as a whole. Parts that a later release uses are checked now and kept. */
import { z } from 'zod';
import { isNetwork } from '../../http/trustedProxies.ts';
import { model } from './models.ts';
import {
  amount,
  type ConfigurableKinds,
  count,
  environmentName,
  filePath,
  hostAndPort,
  name,
  price,
  serviceUrl,
  strictObject,
  text,
  timeouts,
  webOrigin,
} from './primitives.ts';

const brandWord = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'a word of 1 to 32 lower-case letters, digits and "-", first a letter');

const brand = strictObject({
  name: brandWord.default('service'),
  aliases: z.array(brandWord).max(8).default([]),
  systemPrompt: z.string().max(32_768).default(''),
});

const rpcEndpoint = strictObject({
  url: serviceUrl.describe('`{key}` in it stands for the secret, which else goes as a bearer token.'),
  apiKeyEnv: environmentName.exactOptional(),
  weight: count(1, 1000).exactOptional(),
});

const keyedNode = strictObject({
  url: serviceUrl.describe('`{key}` in it stands for the secret.'),
  apiKeyEnv: environmentName,
});

const rpcNetwork = strictObject({
  endpoints: z
    .array(z.union([serviceUrl, rpcEndpoint], 'a URL, or an object with url, apiKeyEnv and weight'))
    .min(1)
    .max(16),
  apiKeyEnv: environmentName.exactOptional(),
  allowPrivateNetwork: z.boolean().exactOptional(),
  timeouts: timeouts.exactOptional(),
});

const paymentNetwork = strictObject({
  network: z
    .string()
    .regex(/^[-a-z0-9]{3,8}:[-_A-Za-z0-9]{1,44}$/, 'a CAIP-2 network such as "eip155:8453"')
    .describe('CAIP-2: "eip155:" and a chain id, or "solana:" and a genesis hash.'),
  asset: text(128).describe("The dollar token's contract, or its mint; it must have six decimals."),
  assetName: text(64).exactOptional().describe("Name in the token's EIP-712 domain; USD Coin unless told."),
  assetVersion: text(16).exactOptional().describe("Version in the token's EIP-712 domain; 2 unless told."),
  payTo: text(128).describe('Who receives the payments.'),
  rpcUrl: serviceUrl.exactOptional().describe('The only node, which is then believed alone.'),
  rpcUrls: z
    .array(z.union([serviceUrl, keyedNode], 'a URL, or an object with url and apiKeyEnv'))
    .min(1)
    .max(16)
    .exactOptional()
    .describe('Several nodes: what more than half of them say counts.'),
  confirmations: count(0, 10_000)
    .exactOptional()
    .describe(
      'Blocks or slots on top of the payment before it is credited; 12 on EVM chains (BNB Smart Chain 20, Polygon 192), ' +
        '32 on Solana.',
    ),
  facilitatorUrl: serviceUrl.exactOptional().describe('Who hands payments in; or else feePayerKeyEnv.'),
  feePayerKeyEnv: environmentName.exactOptional(),
  feeBudgetPerDay: z
    .number()
    .positive()
    .max(1_000_000)
    .exactOptional()
    .describe(
      "What the key of feePayerKeyEnv may spend in a UTC day on payments that end without a credit, in the network's coin; " +
        '0.05 on EVM chains (Ethereum 0.2, Polygon 50, Avalanche 5), 0.2 on Solana.',
    ),
  allowPrivateNetwork: z
    .boolean()
    .exactOptional()
    .describe('Nodes and facilitator may be on a private network; without saying so only on this machine.'),
}).refine((entry) => entry.rpcUrl === undefined || entry.rpcUrls === undefined, {
  path: ['rpcUrls'],
  error: 'either "rpcUrl" or "rpcUrls", not both',
});

const x402 = strictObject({
  signIn: strictObject({ domains: z.array(text(253)).max(32).default([]) }).exactOptional(),
  networks: z.array(paymentNetwork).max(32).default([]),
});

const reached = {
  apiKeyEnv: environmentName.exactOptional(),
  allowPrivateNetwork: z.boolean().exactOptional(),
  timeouts: timeouts.exactOptional(),
};

const search = z.discriminatedUnion('kind', [
  strictObject({ kind: z.literal('searxng'), baseUrl: serviceUrl, ...reached }),
  strictObject({ kind: z.literal('brave'), baseUrl: serviceUrl.exactOptional(), ...reached }),
]);

const media = strictObject({
  retentionHours: z.number().gt(0).max(8760).default(24),
});

const images = strictObject({
  enhanceModel: text(128).exactOptional(),
});

const jobs = strictObject({
  deadlineMinutes: z.number().gt(0).max(1440).default(30),
  pollFirstMs: count(1, 600_000).default(500),
  pollLongestMs: count(1, 600_000).default(10_000),
}).refine((entry) => entry.pollFirstMs <= entry.pollLongestMs, {
  path: ['pollLongestMs'],
  error: 'at least pollFirstMs',
});

const limit = count(0, 1_000_000_000_000_000).exactOptional();
const accountId = text(128);

const refundedPerDay = amount.describe(
  'USD by list price: so much a UTC day is refunded of work that a provider was asked for and is paid for all the same: jobs ' +
    'that are cancelled and cannot be stopped, and images, transcripts, speech and searches whose client left before the answer.',
);

const limitOverride = strictObject({
  refundedPerDay: refundedPerDay.exactOptional(),
  requestsPerMinute: limit,
  tokensPerMinute: limit,
  failedPer30s: limit.describe('Also how many documents and media may fail to be read in ten minutes.'),
  rpcRequestsPerMinute: limit,
  rpcCreditsPerDay: limit,
  callsInFlight: limit,
  fetchedBytes: limit.describe(
    'Of each process: bytes of uploads, fetched media and pages at a time; in workers, of the sources of jobs.',
  ),
  slots: limit.describe(
    'Of each process, and of each kind: media, pictures, documents and pages that are read at a time; in workers, jobs that are measured or made there.',
  ),
});

const network = z.string().max(64).refine(isNetwork, 'an IP address, or a network of them such as "10.0.0.0/8"');

const limits = strictObject({
  partnerAccounts: z.array(accountId).max(10_000).default([]),
  staffAccounts: z.array(accountId).max(10_000).default([]),
  overrides: z.record(accountId, limitOverride).default({}),
  refundedPerDay: refundedPerDay.default(20),
  perAddressPerMinute: count(1, 1_000_000_000).default(60),
  trustedProxies: z
    .array(network)
    .max(100)
    .default([])
    .describe(
      'Addresses and networks of your own proxies and balancers, and of nobody else: the client is whom their X-Forwarded-For names.',
    ),
});

const usual = (amount: number) => price.default({ usd: amount, diem: amount });

const prices = strictObject({
  scrape: usual(0.01).describe('A page that is read: POST /augment/scrape, /augment/text-parser, and chat.'),
  search: usual(0.01).describe('A search of the web: POST /augment/search, and chat.'),
  voiceCloning: usual(0.05).describe('A voice cloned by POST /audio/voices.'),
  rpcCredit: usual(0.0000007).describe('A credit of POST /crypto/rpc/{network}.'),
});

const cors = strictObject({
  origins: z
    .array(webOrigin)
    .max(1_000)
    .default(['*'])
    .describe('Origins whose pages may call the API from a browser; "*" is any, and an empty list none.'),
});

const catalogue = strictObject({
  charactersFile: filePath.exactOptional(),
  openWithoutKey: z.boolean().default(false),
});

const ollama = strictObject({
  find: z.boolean().exactOptional(),
});

const metrics = strictObject({
  workerPort: count(0, 65_535).exactOptional(),
});

/** An entry of any kind. */
function providerSchema([first, ...others]: ConfigurableKinds) {
  return z.discriminatedUnion('kind', [first.settings, ...others.map(({ settings }) => settings)]);
}

/** Built at the start of a process from its kinds of providers. */
export function configurationFile(kinds: ConfigurableKinds) {
  return strictObject({
    $schema: text(2048).exactOptional().describe('For editors: where the JSON Schema of this file is.'),
    brand: brand.prefault({}).describe('The name in headers and parameters, and further names they answer to.'),
    providers: z
      .record(name, providerSchema(kinds))
      .default({})
      .describe('Services that do the work, by name; `local`, `simulator` and `elevenlabs` are built in.'),
    models: z
      .array(model)
      .max(10_000)
      .default([])
      .describe('What is sold; an entry with the id of a built-in model replaces it.'),
    ollama: ollama
      .prefault({})
      .describe(
        'Whether an Ollama is looked for at the start, and its models listed free of charge: with npm start, or where OLLAMA_HOST is set, unless this says otherwise.',
      ),
    rpc: strictObject({ networks: z.record(name, rpcNetwork).default({}) })
      .prefault({})
      .describe('Blockchain nodes by network.'),
    x402: x402.prefault({}).describe('Networks on which wallets sign in and pay.'),
    fetch: strictObject({ allowPrivateHosts: z.array(hostAndPort).max(1000).default([]) })
      .prefault({})
      .describe("host:port pairs on a private network that users' URLs may name."),
    search: search.exactOptional().describe('The search engine; without an entry Brave, where BRAVE_API_KEY is set.'),
    media: media.prefault({}).describe('How long a stored output is kept.'),
    images: images
      .prefault({})
      .describe('The text model that rewrites prompts of pictures on request; without one nothing does.'),
    jobs: jobs.prefault({}).describe('Deadline of a job and the pauses between questions to its provider.'),
    metrics: metrics
      .prefault({})
      .describe('Where each worker answers GET /metrics: nowhere unless a port is named; 0 is any free one.'),
    limits: limits
      .prefault({})
      .describe(
        'Accounts with other limits than the published ones, and the calls a minute from one address where no credential is asked for.',
      ),
    prices: prices.prefault({}).describe('What is sold without a model, in USD and diem.'),
    cors: cors.prefault({}).describe('Which web pages may call the API.'),
    catalogue: catalogue.prefault({}).describe('Who may read the catalogue, and the characters in it.'),
  }).meta({
    title: 'Farebox configuration',
    description: 'farebox.config.json: adds to the built-in defaults. Secrets stay in the environment.',
  });
}

export type ConfigurationFile = z.output<ReturnType<typeof configurationFile>>;

/** The text of farebox.config.schema.json. What only code can check (names that must exist) is not in it. */
export function configurationJsonSchema(kinds: ConfigurableKinds): string {
  const schema = z.toJSONSchema(configurationFile(kinds), { io: 'input' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
