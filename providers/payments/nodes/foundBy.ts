import type { Found, SignedPayment } from '../paymentNetwork.ts';
import type { Readings } from './rpcNodes.ts';

/** What one node says of a payment; `Place` is where it saw it, so that nodes on two sides of a fork do not agree. */
export type Sighting<Place> =
  | { state: 'absent'; gone: boolean; dropped?: true; stuck?: true }
  | ({ state: 'pending' | 'final' | 'wrong'; transaction: string } & Place);

/**
 * What is believed of it: only what the nodes agree on says that it is final, wrong or gone; one that saw it while they do
 * not makes it pending. `reason`: why it is wrong where it is.
 */
export function foundBy<Place>(
  { agreed, all }: Readings<Sighting<Place>>,
  { amount }: SignedPayment,
  reason: string,
): Found {
  if (agreed === undefined) {
    const seen = all.find((sighting) => sighting.state !== 'absent');
    return seen === undefined
      ? { state: 'absent', gone: false }
      : { state: 'pending', transaction: seen.transaction };
  }
  const sighting = agreed.value;
  if (sighting.state === 'absent') return sighting;
  const { state, transaction } = sighting;
  if (state === 'final') return { state, transaction, amount };
  if (state === 'pending') return { state, transaction };
  return { state, transaction, reason };
}
