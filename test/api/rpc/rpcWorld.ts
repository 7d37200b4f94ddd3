/** An API with a node, and accounts that may call it. */
import { randomUUID } from 'node:crypto';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { type RpcNode, startRpcNode } from '../../stubs/rpcNode.ts';
import { startApi, type TestApi, type TestApiOptions } from '../startApi.ts';
import { type PlainUpstreams, plainUpstreams } from './plainUpstreams.ts';

export interface RpcWorld {
  api: TestApi;
  node: RpcNode;
  upstreams: PlainUpstreams;
  close(): Promise<void>;
}

export interface RpcPayer {
  key: string;
  keyId: string;
  accountId: string;
}

export interface RpcWorldOptions extends TestApiOptions {
  /** Default: all. */
  networks?: readonly string[];
  node?: RpcNode;
  /** Default: limits that no account reaches. */
  limits?: 'published';
  /** `shipped` reaches the node like a configured one. By default the test can change the upstreams. */
  upstreams?: 'shipped';
}

export async function startRpcWorld(options: RpcWorldOptions = {}): Promise<RpcWorld> {
  const { networks = [...RPC_NETWORKS.keys()], limits, ...rest } = options;
  const node = options.node ?? (await startRpcNode());
  const settings = networks.map((slug): [string, Config['rpc']['networks'][string]] => {
    return [slug, { endpoints: [`${node.url}/${slug}`], allowPrivateNetwork: true }];
  });
  const configured = (config: Config): Config => ({
    ...config,
    rpc: { networks: Object.fromEntries(settings) },
  });
  const api = await startApi({ ...rest, ...(options.upstreams && { config: configured }) });
  const upstreams = plainUpstreams(node.url, networks);
  const { dependencies } = api.opened;
  if (!options.upstreams) dependencies.providers.rpc = upstreams;
  const plenty = { failedPer30s: 10 ** 9, rpcRequestsPerMinute: 10 ** 9, rpcCreditsPerDay: 10 ** 12 };
  if (!limits) dependencies.limits.calls.overrideOf = () => plenty;
  return {
    ...{ api, node, upstreams },
    async close() {
      await api.stop();
      if (!options.node) await node.close();
    },
  };
}

/** Creates an account with a key and `amount` nano USD. */
export async function newPayer({ api }: RpcWorld, amount = 10n ** 12n): Promise<RpcPayer> {
  const { secret, keyId, accountId } = await api.newKey('INFERENCE');
  if (amount > 0n) {
    const credit = { operationId: randomUUID(), accountId, currency: 'usd', amount, notes: 'test' } as const;
    await grant(api.opened.dependencies.core.sql, credit);
  }
  return { key: secret, keyId, accountId };
}

export interface RpcReply {
  status: number;
  text: string;
  headers: Headers;
}

export interface Posted {
  network?: string;
  body: string;
  headers?: Record<string, string>;
}

export async function post({ api }: RpcWorld, { key }: RpcPayer, posted: Posted): Promise<RpcReply> {
  const { network = 'base-mainnet', body, headers = {} } = posted;
  const response = await api.call(`/crypto/rpc/${network}`, {
    ...{ method: 'POST', key, body },
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Returns a call as JSON text. `id` and `params` are JSON text as well. */
export function call(method: string, params = '[]', id = '1'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`;
}

export function messageOf({ text }: RpcReply): string {
  return (JSON.parse(text) as { error: string }).error;
}

export interface Booked {
  sku: string;
  units: string;
  amount: string;
}

/** Returns the charges of the account from its usage history. */
export async function booked({ api }: RpcWorld, { accountId }: RpcPayer): Promise<Booked[]> {
  const { rows } = await api.opened.dependencies.core.sql.query<Booked>(
    'select sku, units::text, amount_nano::text as amount from usage_entries where account_id = $1 order by id',
    [accountId],
  );
  return rows;
}
