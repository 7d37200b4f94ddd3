import type { RpcChain } from './networks.ts';

export type RpcTier = 'standard' | 'advanced' | 'large';

/** Methods with one tier and one set of chains. */
export interface MethodGroup {
  tier: RpcTier;
  /** Left out: every chain of the family. */
  chains?: readonly RpcChain[];
  /** Left out: every network of those chains. */
  networks?: readonly string[];
  /** Hands in something that must not happen twice. */
  writes?: boolean;
  methods: readonly string[];
}
