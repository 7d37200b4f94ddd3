/**
 * Hears of every change of a key or of an account's status, from whichever process or person makes it, milliseconds
 * after its commit: Postgres tells it as part of the commit (migrations/0003_key_changes.sql). One connection of its own,
 * asked every two seconds whether it still lives, because a half-open one would be silent. Needs a direct connection or a
 * session pooler: behind a transaction pooler nothing is heard, and what is known then ages by its own limit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../log.ts';

export type KeyChange = { kind: 'key'; secretHash: string } | { kind: 'account'; accountId: string };

export interface KeyChangesOptions {
  databaseUrl: string;
  onChange(change: KeyChange): void;
  /** Changes may have been missed: whatever is known must be read again. */
  onGap(): void;
  log: Logger;
}

export interface KeyChanges {
  /** True while a change would be heard. */
  listening(): boolean;
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 2_000;
const ANSWER_TIMEOUT_MS = 2_000;
const LONGEST_PAUSE_MS = 5_000;

export function listenForKeyChanges(options: KeyChangesOptions): KeyChanges {
  const closing = new AbortController();
  const state = { listening: false };
  const running = keepListening(options, state, closing.signal);
  return {
    listening: () => state.listening,
    async close() {
      closing.abort();
      await running;
    },
  };
}

async function keepListening(
  options: KeyChangesOptions,
  state: { listening: boolean },
  closing: AbortSignal,
): Promise<void> {
  for (let failures = 0; !closing.aborted; failures += 1) {
    try {
      await listenOnce(options, state, closing);
    } catch (error) {
      if (state.listening) failures = 0;
      if (!closing.aborted && failures === 0) options.log.warn({ err: error }, 'key changes are not heard');
    }
    state.listening = false;
    if (closing.aborted) return;
    options.onGap();
    const pauseMs = Math.min(100 * 2 ** Math.min(failures, 6), LONGEST_PAUSE_MS);
    await sleep(pauseMs, undefined, { signal: closing }).catch(() => undefined);
  }
}

/** Listens until the connection breaks (throws) or the process closes (returns). */
async function listenOnce(
  options: KeyChangesOptions,
  state: { listening: boolean },
  closing: AbortSignal,
): Promise<void> {
  const client = new pg.Client({
    connectionString: options.databaseUrl,
    application_name: 'farebox-key-changes',
    connectionTimeoutMillis: 5_000,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  });
  const broken = new Promise<never>((_resolve, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('the connection ended')));
  });
  broken.catch(() => undefined);
  client.on('notification', ({ payload }) => options.onChange(parseChange(payload ?? '')));
  try {
    await client.connect();
    await client.query('listen farebox_keys');
    // What changed before this moment was not heard.
    options.onGap();
    state.listening = true;
    while (!closing.aborted) {
      await Promise.race([
        sleep(CHECK_EVERY_MS, undefined, { signal: closing }).catch(() => undefined),
        broken,
      ]);
      await client.query('select 1');
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}

function parseChange(payload: string): KeyChange {
  const [, accountId] = payload.split('account:');
  return accountId === undefined ? { kind: 'key', secretHash: payload } : { kind: 'account', accountId };
}
