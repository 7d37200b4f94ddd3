/** The floors, their allowed imports, and the place of each package. */

export const FLOORS = [
  'domain',
  'engines',
  'infra',
  'providers',
  'workflows',
  'activities',
  'workers',
  'api',
  'cli',
  'dev',
  'bench',
  'test',
] as const;
export type Floor = (typeof FLOORS)[number];

/** Floor of a path from the root. Undefined for files at the root. */
export function floorOf(path: string): Floor | undefined {
  return FLOORS.find((floor) => path.startsWith(`${floor}/`));
}

interface FloorRule {
  /** Path prefixes of our own files. */
  own: readonly string[];
  /** Path prefixes from which only types may be imported. */
  typesOf?: readonly string[];
  /** Whether `node:` modules may be loaded. */
  node: boolean;
}

/** Files of infra/ without I/O, which engines and providers may use. */
const SHARED_INFRA = [
  'infra/accountShares.ts',
  'infra/log.ts',
  'infra/rejectOnAbort.ts',
  'infra/semaphore.ts',
  'infra/tooBusy.ts',
  'infra/turnLimit.ts',
  'infra/config/environment.ts',
];

const CONTRACT = 'workflows/contract.ts';

export const FLOOR_RULES: Record<Floor, FloorRule> = {
  domain: { own: ['domain/'], node: false },
  // An engine has no database and no network.
  engines: { own: ['domain/', 'engines/', ...SHARED_INFRA], node: true },
  infra: { own: ['domain/', 'engines/', 'infra/'], node: true },
  // An adapter has no database.
  providers: {
    own: [
      ...['domain/', 'engines/', 'providers/', 'infra/http/'],
      // Primitives for the settings schema of a provider kind.
      'infra/config/schema/primitives.ts',
      ...SHARED_INFRA,
    ],
    node: true,
  },
  workflows: { own: ['domain/', 'workflows/'], typesOf: ['activities/'], node: false },
  activities: { own: ['domain/', 'engines/', 'infra/', 'providers/', 'activities/', CONTRACT], node: true },
  workers: {
    own: ['domain/', 'engines/', 'infra/', 'providers/', 'workflows/', 'activities/', 'workers/'],
    node: true,
  },
  api: { own: ['domain/', 'engines/', 'infra/', 'providers/', 'api/', CONTRACT], node: true },
  cli: {
    own: ['domain/', 'engines/', 'infra/', 'providers/', 'workers/', 'cli/', 'dev/', CONTRACT],
    node: true,
  },
  // The developer's stack: the embedded parts, the launchers and the demonstration chain.
  dev: { own: ['domain/', 'engines/', 'infra/', 'dev/'], node: true },
  bench: { own: [''], node: true },
  test: { own: [''], node: true },
};

/** Entry points of `npm run`: plain JavaScript that builds first and then loads the build. */
export const LAUNCHERS = { folder: 'dev/launch/', own: ['dev/launch/', 'dist/'] } as const;

/** Folders of api/ that every subject may use. Other folders are subjects, which do not import each other. */
export const SHARED_API_FOLDERS = ['auth', 'body', 'http', 'limits', 'paid', 'queue', 'server', 'wallets'] as const;

/**
 * Places that may load each npm package. Every floor that may import packages may name their types. A new package needs
 * a row here. test/ and bench/ may load any.
 */
export const PACKAGE_PLACES: Record<string, readonly string[]> = {
  '@aws-sdk/client-s3': ['infra/s3/', 'dev/'],
  '@bitauth/libauth': ['api/auth/signIn/'],
  '@joplin/turndown-plugin-gfm': ['engines/pages/'],
  '@koa/router': ['api/'],
  '@opentelemetry/api': ['infra/telemetry/'],
  '@opentelemetry/exporter-trace-otlp-proto': ['infra/telemetry/'],
  '@opentelemetry/resources': ['infra/telemetry/'],
  '@opentelemetry/sdk-trace': ['infra/telemetry/'],
  'gpt-tokenizer': ['engines/text/'],
  '@temporalio/activity': ['activities/'],
  '@temporalio/client': ['infra/temporal/', 'dev/', 'workers/', 'api/queue/generationClient.ts', 'cli/'],
  '@temporalio/common': ['infra/temporal/', 'workflows/', 'activities/', 'workers/', 'api/queue/generationClient.ts'],
  '@temporalio/worker': ['workers/', 'dev/'],
  '@temporalio/workflow': ['workflows/'],
  '@solana-program/token': ['providers/payments/solana/'],
  '@solana/kit': ['providers/payments/solana/'],
  '@x402/core': ['dev/chain/'],
  '@x402/evm': ['dev/chain/'],
  commander: ['cli/'],
  'file-type': ['engines/documents/', 'engines/media/'],
  htmlparser2: ['engines/documents/'],
  defuddle: ['engines/pages/'],
  ioredis: ['infra/redis/', 'dev/'],
  'ipaddr.js': ['infra/http/'],
  koa: ['api/'],
  linkedom: ['engines/pages/'],
  sharp: ['engines/'],
  solc: ['dev/launch/'],
  'lru-cache': ['api/', 'infra/', 'engines/'],
  'pdfjs-dist': ['engines/documents/'],
  pg: ['infra/postgres/', 'dev/'],
  pino: ['infra/log.ts', 'infra/telemetry/'],
  'prom-client': ['infra/telemetry/', 'api/', 'workers/'],
  rolldown: ['dev/launch/'],
  turndown: ['engines/pages/'],
  undici: ['infra/http/'],
  viem: [
    'providers/payments/evm/',
    'providers/rpc/',
    'api/auth/signIn/',
    'api/x402/',
    'infra/config/checkPayments.ts',
    'dev/chain/',
    'cli/',
  ],
  zod: ['api/', 'infra/', 'providers/', 'dev/', 'engines/'],
  'zod-openapi': ['api/openapi/'],
};

/** Names that only some places may use, with the reason in the violation. */
export interface UseRule {
  uses: readonly string[];
  /** Floors or paths where it is forbidden. Undefined means everywhere. */
  forbidden?: readonly string[];
  /** Places that are exempt. */
  allowed?: readonly string[];
  reason: string;
}

/** Modules of api/ that memoize a function without inputs, configuration and clock. */
const MEMO_FILES = ['api/auth/signIn/signedText.ts'] as const;

export const USE_RULES: readonly UseRule[] = [
  {
    uses: ['fetch()', 'globalThis.fetch', 'http.request', 'http.get', 'new WebSocket()', 'globalThis.WebSocket'],
    allowed: [
      'infra/http/',
      'engines/child/denyNetwork.ts',
      'dev/',
      'infra/deploy/healthcheck.mjs',
      'cli/',
      'bench/',
      'test/',
    ],
    reason: 'the outside world has one door: infra/http',
  },
  {
    uses: ['process.env'],
    allowed: ['infra/config/', 'dev/launch/', 'bench/', 'test/'],
    reason: 'the environment is read by infra/config only',
  },
  {
    uses: ['Date.now', 'Date()', 'new Date()', 'Math.random', 'performance.now', 'process.hrtime'],
    forbidden: ['domain/', 'workflows/'],
    reason: 'rules and workflows have no clock and no randomness: they get times and ids as inputs',
  },
  {
    uses: ['crypto.randomUUID', 'crypto.getRandomValues', 'globalThis.crypto'],
    forbidden: ['domain/', 'workflows/'],
    reason: 'rules and workflows have no clock and no randomness: they get times and ids as inputs',
  },
  {
    uses: ['setTimeout()', 'setInterval()', 'setImmediate()', 'queueMicrotask()'],
    forbidden: ['domain/', 'workflows/'],
    reason: 'a rule never waits, and a workflow waits by its own timers',
  },
  {
    uses: ['let of a module'],
    forbidden: ['domain/', 'workflows/'],
    reason: 'a rule keeps nothing between calls, and the executions of workflows share their modules',
  },
  {
    uses: ['let of a module', 'state of a module'],
    forbidden: ['api/'],
    allowed: MEMO_FILES,
    reason: 'what changes is created at the start (openDependencies, createApp) and passed down',
  },
  {
    uses: ['require()', 'eval()'],
    allowed: [],
    reason: 'modules are imported by name, so that the floors can be checked',
  },
  {
    uses: ['export default'],
    allowed: ['vitest.config.ts', 'test/vitest'],
    reason: 'exports have names',
  },
  { uses: ['export *'], allowed: ['workflows/index.ts'], reason: 'no barrels' },
  { uses: ['any'], allowed: [], reason: 'say the type, or `unknown`' },
  { uses: ['non-null !'], allowed: [], reason: 'prove it to the compiler' },
];

export const CONSOLE_PLACES = ['cli/', 'bench/', 'dev/', 'test/'] as const;

/** `node:` modules that open connections, and the places that may. Helpers and listening are free. */
export const SOCKET_MODULES = ['net', 'tls', 'dgram', 'dns', 'dns/promises', 'https', 'http2'] as const;
export const SOCKET_PLACES = ['infra/http/', 'engines/child/denyNetwork.ts', 'dev/', 'bench/', 'test/'] as const;
export const SOCKET_FREE_NAMES = [
  'isIP',
  'isIPv4',
  'isIPv6',
  'BlockList',
  'SocketAddress',
  'Server',
  'createServer',
] as const;

/** Data tables, without a limit on size. */
export const DATA_FILES = ['domain/catalogue/', 'test/fixtures/', 'test/histories/'] as const;

export const MAX_FILE_LINES = 400;
export const MAX_FUNCTION_LINES = 60;
/** Does not apply to test/, where a table of tests names columns by parameters. */
export const MAX_PARAMETERS = 3;
