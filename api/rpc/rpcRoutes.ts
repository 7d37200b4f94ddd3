/** GET /crypto/rpc/networks and POST /crypto/rpc/{network} (RPC-1 to RPC-10). */
import { isUtf8 } from 'node:buffer';
import { FareboxError } from '../../domain/errors.ts';
import { priceOfCredits } from '../../domain/rpc/bill.ts';
import { RPC_NETWORKS, type RpcNetwork } from '../../domain/rpc/networks.ts';
import { hasWrites, type RpcRequest, readRpcRequest } from '../../domain/rpc/request.ts';
import type { LimitedCall } from '../../infra/redis/limiter.ts';
import { invalidJson } from '../body/readJson.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { dryRun, isDryRun } from '../paid/dryRun.ts';
import { readIdempotencyKey } from '../queue/idempotency.ts';
import { answerKeyedRequest, isKeyedReplay } from './answerKeyedRequest.ts';
import { RPC_DESCRIPTIONS, rpcBody } from './openapi.ts';
import { payForCalls } from './payForCalls.ts';
import { admitRpc, rpcRequests } from './rpcLimits.ts';
import { toAnswer } from './toAnswer.ts';

export const rpcNetworksRoute = defineRoute({
  method: 'GET',
  path: '/crypto/rpc/networks',
  access: 'catalogue',
  describes: RPC_DESCRIPTIONS.networks,
  handler: async () => json({ networks: [...RPC_NETWORKS.keys()] }),
});

const MAX_BYTES = 1024 * 1024;
const NOTHING: ReadonlyMap<number, string> = new Map();
/** The nodes have 30 seconds, and a concurrent request waits as long for the first. */
const DEADLINE_MS = 75_000;

export const rpcRoute = defineRoute({
  method: 'POST',
  path: '/crypto/rpc/{network}',
  access: 'buyer',
  body: { raw: { maxBytes: MAX_BYTES, json: rpcBody } },
  isReplay: isKeyedReplay,
  hidesBudget: true,
  ownWindows: rpcRequests,
  deadlineMs: DEADLINE_MS,
  describes: RPC_DESCRIPTIONS.call,
  async handler(dependencies, request) {
    const { accountId } = request.caller;
    const read = attempt(() => {
      const network = networkNamed(request.params.network);
      const asked = readRequest(request.body, network);
      if (!dependencies.providers.rpc.networks.has(network.slug)) throw notConfigured(network);
      return { network, asked, key: readIdempotencyKey(request.headers['idempotency-key']) };
    });
    // A refused request counts as well. With a key the credits are counted when it is certain that it is no replay.
    const dry = isDryRun(request);
    const credits = read.found && read.found.key === undefined && !dry ? read.found.asked.credits : 0;
    const ask = (windows: LimitedCall) => request.admitWith(windows);
    const admission = await admitRpc(dependencies.limits.calls, accountId, { request: true, credits, ask });
    if (admission.refusal) return admission.refusal;
    if (!read.found) throw read.error;
    const { network, asked, key } = read.found;
    if (dry) return dryRun(priceOfCredits(asked.credits, dependencies.core.config.prices.rpcCredit));
    if (key !== undefined) return await answerKeyedRequest(dependencies, request, { network, asked, key });
    const paid = await payForCalls(dependencies, request, {
      ...{ network, asked, admission, operationId: request.requestId, known: NOTHING },
      ...{ goesOn: hasWrites(asked), keepsBill: false },
    });
    if (paid.kind === 'failed') throw paid.error;
    return await toAnswer(paid, { asked, credit: dependencies.core.config.prices.rpcCredit });
  },
});

/** Result or error as a value: the error is thrown after the request was counted. */
function attempt<T>(work: () => T): { found: T } | { found: undefined; error: unknown } {
  try {
    return { found: work() };
  } catch (error) {
    return { found: undefined, error };
  }
}

function networkNamed(slug: string | undefined): RpcNetwork {
  const network = RPC_NETWORKS.get(slug ?? '');
  if (network) return network;
  const message = 'Unknown network. GET /crypto/rpc/networks lists all of them.';
  throw new FareboxError({ code: 'invalid_request', message });
}

function readRequest(body: unknown, network: RpcNetwork): RpcRequest {
  if (!Buffer.isBuffer(body) || !isUtf8(body)) throw invalidJson();
  return readRpcRequest(body, network);
}

function notConfigured({ slug }: RpcNetwork): FareboxError {
  const message = `This service has no node of ${slug}: its configuration has no rpc.networks.${slug}.`;
  return new FareboxError({ code: 'unavailable', message });
}
