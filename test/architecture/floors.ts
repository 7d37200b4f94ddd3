/** The floors of the building, what each may import, and which package has which place. */

export const FLOORS = [
  'domain',
  'infra',
  'providers',
  'workflows',
  'activities',
  'workers',
  'api',
  'cli',
  'bench',
  'test',
] as const;
export type Floor = (typeof FLOORS)[number];

/** The floor of a path from the repository's root; undefined for the few files that stand at the root. */
export function floorOf(path: string): Floor | undefined {
  return FLOORS.find((floor) => path.startsWith(`${floor}/`));
}

interface FloorRule {
  /** Path prefixes of our own files. */
  own: readonly string[];
  /** Path prefixes of which only types may be imported. */
  typesOf?: readonly string[];
  /** Whether `node:` modules may be loaded. */
  node: boolean;
}

const CONTRACT = 'workflows/contract.ts';

export const FLOOR_RULES: Record<Floor, FloorRule> = {
  domain: { own: ['domain/'], node: false },
  infra: { own: ['domain/', 'infra/'], node: true },
  // An adapter has no database.
  providers: {
    own: ['domain/', 'providers/', 'infra/http/', 'infra/media/', 'infra/text/', 'infra/turnLimit.ts'],
    node: true,
  },
  workflows: { own: ['domain/', 'workflows/'], typesOf: ['activities/'], node: false },
  activities: { own: ['domain/', 'infra/', 'providers/', 'activities/', CONTRACT], node: true },
  workers: {
    own: ['domain/', 'infra/', 'providers/', 'workflows/', 'activities/', 'workers/'],
    node: true,
  },
  api: { own: ['domain/', 'infra/', 'providers/', 'api/', CONTRACT], node: true },
  cli: { own: ['domain/', 'infra/', 'providers/', 'workers/', 'cli/', CONTRACT], node: true },
  bench: { own: [''], node: true },
  test: { own: [''], node: true },
};

/** What `npm run` starts: plain JavaScript that builds first and then loads what was built. */
export const LAUNCHERS = { folder: 'infra/launch/', own: ['infra/launch/', 'dist/'] } as const;

/** Folders of api/ that every subject may use; the others are subjects and do not import each other. */
export const SHARED_API_FOLDERS = ['auth', 'body', 'middleware'] as const;

/**
 * Where each npm package may be loaded (types may be named on every floor that may import packages). A package without
 * a row has no place yet: give it one. test/ and bench/ may load what they like.
 */
export const PACKAGE_PLACES: Record<string, readonly string[]> = {
  '@aws-sdk/client-s3': ['infra/s3/', 'infra/stack/'],
  '@aws-sdk/lib-storage': ['infra/s3/'],
  '@bitauth/libauth': ['api/auth/signIn/'],
  '@joplin/turndown-plugin-gfm': ['infra/web/'],
  '@koa/router': ['api/'],
  '@opentelemetry/api': ['infra/telemetry/'],
  '@opentelemetry/exporter-trace-otlp-proto': ['infra/telemetry/'],
  '@opentelemetry/resources': ['infra/telemetry/'],
  '@opentelemetry/sdk-trace': ['infra/telemetry/'],
  'gpt-tokenizer': ['infra/text/'],
  '@temporalio/activity': ['activities/'],
  '@temporalio/client': ['infra/temporal/', 'infra/stack/', 'workers/', 'api/queued.ts', 'cli/'],
  '@temporalio/common': ['infra/temporal/', 'workflows/', 'activities/', 'workers/', 'api/queued.ts'],
  '@temporalio/worker': ['workers/', 'infra/stack/'],
  '@temporalio/workflow': ['workflows/'],
  '@solana-program/token': ['providers/payments/solana/'],
  '@solana/kit': ['providers/payments/solana/'],
  '@x402/core': ['infra/stack/chain/'],
  '@x402/evm': ['infra/stack/chain/'],
  commander: ['cli/'],
  'file-type': ['infra/documents/', 'infra/media/'],
  htmlparser2: ['infra/documents/'],
  defuddle: ['infra/web/'],
  ioredis: ['infra/redis/', 'infra/stack/'],
  'ipaddr.js': ['infra/http/'],
  koa: ['api/'],
  linkedom: ['infra/web/'],
  '@techstark/opencv-js': ['infra/media/'],
  sharp: ['infra/media/'],
  solc: ['infra/launch/'],
  'lru-cache': ['api/', 'infra/'],
  'music-metadata': ['infra/media/'],
  'node-pg-migrate': ['infra/postgres/'],
  'pdfjs-dist': ['infra/documents/'],
  pg: ['infra/postgres/', 'infra/stack/'],
  pino: ['infra/log.ts', 'infra/telemetry/'],
  'prom-client': ['infra/telemetry/', 'api/', 'workers/'],
  rolldown: ['infra/launch/'],
  turndown: ['infra/web/'],
  undici: ['infra/http/'],
  viem: [
    'providers/payments/evm/',
    'providers/rpc/',
    'api/auth/signIn/',
    'api/x402/',
    'infra/config/checkPayments.ts',
    'infra/stack/chain/',
    'cli/',
  ],
  zod: ['api/', 'infra/', 'providers/'],
  'zod-openapi': ['api/openapi/'],
};

/** What only some places may use, with the reason that the violation tells. */
export interface UseRule {
  uses: readonly string[];
  /** Floors or paths where it is forbidden; everywhere but `allowed` when left out. */
  forbidden?: readonly string[];
  allowed?: readonly string[];
  reason: string;
}

export const USE_RULES: readonly UseRule[] = [
  {
    uses: [
      'fetch()',
      'globalThis.fetch',
      'http.request',
      'http.get',
      'new WebSocket()',
      'globalThis.WebSocket',
    ],
    allowed: [
      'infra/http/',
      'infra/stack/',
      'infra/launch/',
      'infra/deploy/healthcheck.mjs',
      'cli/',
      'bench/',
      'test/',
    ],
    reason: 'the outside world has one door: infra/http',
  },
  {
    uses: ['process.env'],
    allowed: ['infra/config/', 'infra/launch/', 'bench/', 'test/'],
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

export const CONSOLE_PLACES = ['cli/', 'bench/', 'infra/stack/', 'infra/launch/', 'test/'] as const;

/** `node:` modules that open connections, and who may. Their helpers are free, and so is listening. */
export const SOCKET_MODULES = ['net', 'tls', 'dgram', 'dns', 'dns/promises', 'https', 'http2'] as const;
export const SOCKET_PLACES = ['infra/http/', 'infra/stack/', 'infra/launch/', 'bench/', 'test/'] as const;
export const SOCKET_FREE_NAMES = [
  'isIP',
  'isIPv4',
  'isIPv6',
  'BlockList',
  'SocketAddress',
  'Server',
  'createServer',
] as const;

/** Files that are tables of data, not code to read. */
export const DATA_FILES = ['domain/catalogue/', 'test/fixtures/', 'test/histories/'] as const;

export const MOST_FILE_LINES = 400;
export const MOST_FUNCTION_LINES = 60;
/** Not counted in test/: a table of tests names its columns by parameters. */
export const MOST_PARAMETERS = 3;
