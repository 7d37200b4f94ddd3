/** Accounts that pay the network's fees: this service's own key, or the accounts that the facilitator names. */
import { isAddress } from '@solana/kit';
import { z } from 'zod';
import type { Facilitator } from '../facilitator.ts';
import { ChainUnavailable } from '../paymentNetwork.ts';

export interface FeePayers {
  /** Fee payer named in offers. Throws ChainUnavailable until the facilitator has named one. */
  offered(): Promise<string>;
  /** Whether an account may be the fee payer of a payment. Throws ChainUnavailable. */
  has(address: string): Promise<boolean>;
}

const FRESH_MS = 5 * 60_000;
/** A facilitator that is down for a while keeps its keys. */
const USABLE_MS = 24 * 3_600_000;
/** Minimum pause between requests to the facilitator. */
const PAUSE_MS = 2_000;
const MAX_KINDS = 1_000;
const MAX_SIGNERS = 100;

const supported = z.object({
  kinds: z
    .array(
      z.object({
        scheme: z.string(),
        network: z.string(),
        extra: z.object({ feePayer: z.string().optional() }).nullish(),
      }),
    )
    .max(MAX_KINDS),
  signers: z.record(z.string(), z.array(z.string()).max(MAX_SIGNERS)).nullish(),
});

interface KnownFeePayers {
  offered: string;
  all: ReadonlySet<string>;
  atMs: number;
}

/** `networks`: names under which the facilitator may list this network. */
export function facilitatorFeePayers(facilitator: Facilitator, networks: readonly string[]): FeePayers {
  let known: KnownFeePayers | undefined;
  let askedMs = 0;
  let asking: Promise<void> | undefined;
  const ask = async () => {
    askedMs = Date.now();
    const reply = supported.safeParse(await facilitator.supported().catch(() => undefined));
    if (reply.success) known = feePayersIn(reply.data, networks) ?? known;
  };
  const current = async (): Promise<KnownFeePayers> => {
    const isFresh = known !== undefined && Date.now() - known.atMs < FRESH_MS;
    if (!isFresh && Date.now() - askedMs >= PAUSE_MS) {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
    }
    // Only the first callers wait; later ones use the cached answer during a refresh.
    if (known === undefined) await asking;
    if (known === undefined || Date.now() - known.atMs > USABLE_MS) {
      throw new ChainUnavailable('the facilitator does not say who pays the fees');
    }
    return known;
  };
  return {
    offered: async () => (await current()).offered,
    has: async (address) => (await current()).all.has(address),
  };
}

function feePayersIn(reply: z.output<typeof supported>, networks: readonly string[]): KnownFeePayers | undefined {
  const named = reply.kinds.flatMap(({ scheme, network, extra }) =>
    scheme === 'exact' && networks.includes(network) ? (extra?.feePayer ?? []) : [],
  );
  const signers = [...networks, 'solana:*'].flatMap((network) => reply.signers?.[network] ?? []);
  const [offered, ...others] = [...named, ...signers].filter(isAddress);
  if (offered === undefined) return undefined;
  return { offered, all: new Set([offered, ...others]), atMs: Date.now() };
}
