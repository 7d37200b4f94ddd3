/**
 * Channel with a notification of every change of a key or of an account's status, by any process or person
 * (infra/postgres/functions/accounts/notify_key_change.sql).
 */
import type { Channel } from './listener.ts';

export type KeyChange = { kind: 'key'; secretHash: string } | { kind: 'account'; accountId: string };

export function keyChannel(options: { onChange(change: KeyChange): void; onGap(): void }): Channel {
  return {
    name: 'farebox_keys',
    onMessage: (payload) => options.onChange(parseChange(payload)),
    onGap: () => options.onGap(),
  };
}

function parseChange(payload: string): KeyChange {
  const [, accountId] = payload.split('account:');
  return accountId === undefined ? { kind: 'key', secretHash: payload } : { kind: 'account', accountId };
}
