/** Opens the chain nodes behind the JSON-RPC proxy. */
import { setMaxListeners } from 'node:events';
import { hasHeavyCall, isHeavy } from '../../domain/rpc/methodCost.ts';
import { RPC_NETWORKS, type RpcSettings } from '../../domain/rpc/networks.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { KeptAnswers } from './keptAnswers.ts';
import { knowsTransaction } from './knowsTransaction.ts';
import { openNodeClient } from './nodeClient.ts';
import { type FleetCall, RpcFleet } from './rpcFleet.ts';
import { type NodeAttempt, RpcNode } from './rpcNode.ts';
import { MAX_WHOLE_BYTES, type RpcOutcome, type RpcStream, type RpcTools, type RpcUpstreams } from './rpcUpstreams.ts';

export interface RpcConfiguration {
  rpc: RpcSettings;
  /** Value of an environment variable that an entry names; undefined if unset. */
  secret(name: string): string | undefined;
}

const DEADLINE_MS = 30_000;
const POLL_MS = 5_000;
/** Concurrent heavy calls of one batch. */
const MAX_HEAVY = 4;

/** Omits endpoints without their key, and networks without endpoints. */
export function createRpcUpstreams(configuration: RpcConfiguration, tools: RpcTools = {}): RpcUpstreams {
  const fleets = openFleets(configuration, tools);
  const { cache, observe = () => undefined, deadlineMs = DEADLINE_MS } = tools;
  const kept = cache && new KeptAnswers(cache, observe);
  const fleetOf = (network: string): RpcFleet => {
    const fleet = fleets.get(network);
    if (fleet === undefined) throw new Error('a network without nodes');
    return fleet;
  };
  const workOf = (fleet: RpcFleet, calls: RpcCalls, signal: AbortSignal): FleetCall => {
    return { calls, signal, until: fleet.now() + deadlineMs, maxBytes: MAX_WHOLE_BYTES, heavy: false };
  };
  const orKept = (fleet: RpcFleet, calls: RpcCalls, ask: (rest: RpcCalls) => Promise<RpcOutcome[]>) => {
    fleet.heights.used();
    return kept ? kept.orAsk(fleet, calls, ask) : ask(calls);
  };
  return {
    networks: new Set(fleets.keys()),
    async batch(network, calls, signal) {
      signal.throwIfAborted();
      const fleet = fleetOf(network);
      return await orKept(fleet, calls, (rest) => askBatch(fleet, workOf(fleet, rest, signal)));
    },
    async single(network, call, signal) {
      signal.throwIfAborted();
      const fleet = fleetOf(network);
      let stream: RpcStream | undefined;
      const [outcome] = await orKept(fleet, call, async () => {
        const answer = await askSingle(fleet, workOf(fleet, call, signal));
        if (answer.kind !== 'stream') return [answer];
        stream = answer;
        return [fleet.noNode()];
      });
      return stream ?? outcome ?? fleet.noNode();
    },
    knowsTransaction: (network, hash, signal) => knowsTransaction(fleetOf(network), hash, signal),
    close: async () => {
      await Promise.all([...fleets.values()].map((fleet) => fleet.close()));
    },
  };
}

function openFleets({ rpc, secret }: RpcConfiguration, tools: RpcTools): Map<string, RpcFleet> {
  const { now = () => performance.now(), random = Math.random, pollMs = POLL_MS } = tools;
  const { observe = () => undefined } = tools;
  const opened = Object.entries(rpc.networks).flatMap(([network, settings]): [string, RpcFleet][] => {
    const family = RPC_NETWORKS.get(network)?.family;
    if (family === undefined) return [];
    const nodes = settings.endpoints.flatMap((endpoint, index) => {
      const variable = (typeof endpoint === 'string' ? undefined : endpoint.apiKeyEnv) ?? settings.apiKeyEnv;
      const apiKey = variable === undefined ? undefined : secret(variable);
      if (variable !== undefined && !apiKey) return [];
      const client = openNodeClient({ network, index, endpoint, settings, apiKey });
      const labels = { kind: 'request', network, upstream: client.name } as const;
      return [
        new RpcNode(client, {
          ...{ now, random },
          observe: (outcome, durationMs) => observe({ ...labels, outcome, durationMs }),
        }),
      ];
    });
    if (nodes.length === 0) return [];
    return [[network, new RpcFleet({ network, family, nodes, now, random, observe, pollMs })]];
  });
  return new Map(opened);
}

async function askSingle(fleet: RpcFleet, work: FleetCall): Promise<RpcOutcome | RpcStream> {
  const method = work.calls.method(0);
  if (method.isWrite) return await fleet.write(work);
  const heavy = isHeavy(method.name);
  const first = await fleet.read({ ...work, heavy, streams: heavy });
  const [outcome] = first.outcomes;
  const isTooLarge = outcome?.kind === 'failed' && outcome.reason === 'too_large';
  // A light call had an unexpectedly large result.
  const answered = isTooLarge && !heavy ? await fleet.read({ ...work, streams: true }) : first;
  return answered.stream ?? answered.outcomes[0] ?? fleet.noNode();
}

/** Limit of a reply to a write: a transaction hash, or an error. */
const MAX_WRITTEN_BYTES = 256 * 1024;

const LATE: RpcOutcome = { kind: 'failed', reason: 'timeout', sent: false };

/** Sends light calls together, heavy ones separately, and writes one after another. */
async function askBatch(fleet: RpcFleet, work: FleetCall): Promise<RpcOutcome[]> {
  const { calls } = work;
  // One node for the whole batch, so that all answers show one state of the chain.
  const preferred = fleet.pick(new Set());
  const together = { ...work, preferred };
  if (!calls.some(({ isWrite }) => isWrite) && !hasHeavyCall(calls)) return (await fleet.read(together)).outcomes;
  // Each part adds a listener; there are at most as many parts as calls.
  setMaxListeners(0, work.signal);
  const outcomes: RpcOutcome[] = new Array(calls.length).fill(LATE);
  const indices = outcomes.map((_, index) => index);
  const isWrite = (index: number) => calls.method(index).isWrite;
  const isLone = (index: number) => !isWrite(index) && isHeavy(calls.method(index).name);
  const light = indices.filter((index) => !isWrite(index) && !isLone(index));
  const budget = { leftBytes: work.maxBytes };
  const partOf = (part: readonly number[]): FleetCall => {
    return { ...together, calls: calls.only(part), maxBytes: budget.leftBytes };
  };
  const counted = new Set<unknown>();
  const store = (part: readonly number[], { outcomes: answered }: NodeAttempt) => {
    for (const [at, index] of part.entries()) {
      const outcome = answered[at] ?? fleet.noNode();
      // A result keeps the bytes of its whole reply in memory.
      if (outcome.kind === 'result' && !counted.has(outcome.json)) {
        counted.add(outcome.json);
        budget.leftBytes -= outcome.json.bytes.length;
      }
      outcomes[index] = budget.leftBytes >= 0 ? outcome : { kind: 'failed', reason: 'too_large', sent: true };
    }
  };
  await Promise.all([
    light.length === 0 ? undefined : fleet.read(partOf(light)).then((answered) => store(light, answered)),
    inTurn(indices.filter(isWrite), 1, async (index) => {
      // A write's outcome is reported whatever the others return.
      outcomes[index] = await fleet.write({ ...partOf([index]), maxBytes: MAX_WRITTEN_BYTES });
    }),
    inTurn(indices.filter(isLone), MAX_HEAVY, async (index) => {
      if (fleet.now() >= work.until || budget.leftBytes <= 0) return;
      store([index], await fleet.read({ ...partOf([index]), heavy: true }));
    }),
  ]);
  return outcomes;
}

/** Runs at most `atOnce` works concurrently. */
async function inTurn(
  indices: readonly number[],
  atOnce: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  const left = indices.values();
  const lane = async () => {
    for (const index of left) await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, indices.length) }, lane));
}
