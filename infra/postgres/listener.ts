/**
 * Receives Postgres notifications of any process, milliseconds after their commit. One connection per process for all
 * channels, checked every two seconds, because a half-open one would be silent. Needs a direct connection or a session
 * pooler: behind a transaction pooler nothing arrives, and callers depend on their own reads.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../log.ts';

export interface Channel {
  /** Channel of `pg_notify`; a plain identifier. */
  name: string;
  onMessage(payload: string): void;
  /** Notifications may have been missed: cached data must be read again. */
  onGap(): void;
}

export interface ListenerOptions {
  databaseUrl: string;
  channels: readonly Channel[];
  log: Logger;
}

export interface Listener {
  /** True while notifications arrive. */
  listening(): boolean;
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 2_000;
const ANSWER_TIMEOUT_MS = 2_000;
const MAX_PAUSE_MS = 5_000;

export function openListener(options: ListenerOptions): Listener {
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
  options: ListenerOptions,
  state: { listening: boolean },
  closing: AbortSignal,
): Promise<void> {
  for (let failures = 0; !closing.aborted; failures += 1) {
    try {
      await listenOnce(options, state, closing);
    } catch (error) {
      if (state.listening) failures = 0;
      if (!closing.aborted && failures === 0) options.log.warn({ err: error }, 'changes are not heard');
    }
    state.listening = false;
    if (closing.aborted) return;
    for (const channel of options.channels) channel.onGap();
    const pauseMs = Math.min(100 * 2 ** Math.min(failures, 6), MAX_PAUSE_MS);
    await sleep(pauseMs, undefined, { signal: closing }).catch(() => undefined);
  }
}

/** Listens until the connection breaks (throws) or the process closes (returns). */
async function listenOnce(
  { databaseUrl, channels }: ListenerOptions,
  state: { listening: boolean },
  closing: AbortSignal,
): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'farebox-changes',
    connectionTimeoutMillis: 5_000,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  });
  const broken = new Promise<never>((_resolve, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('the connection ended')));
  });
  broken.catch(() => undefined);
  client.on('notification', ({ channel: name, payload }) =>
    channels.find((channel) => channel.name === name)?.onMessage(payload ?? ''),
  );
  try {
    await client.connect();
    for (const { name } of channels) await client.query(`listen ${name}`);
    // Earlier changes were not received.
    for (const channel of channels) channel.onGap();
    state.listening = true;
    while (!closing.aborted) {
      await Promise.race([sleep(CHECK_EVERY_MS, undefined, { signal: closing }).catch(() => undefined), broken]);
      await client.query('select 1');
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}
