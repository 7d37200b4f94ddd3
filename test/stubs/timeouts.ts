import type { ProviderTimeouts } from '../../domain/providerSettings.ts';

/** Timeouts that no answer of a stub reaches, however slow the machine is. */
export const LONG_TIMEOUTS: ProviderTimeouts = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 };

/** For a stub that falls silent. The first byte has time for the healthy calls before. */
export const SHORT_TIMEOUTS: ProviderTimeouts = { ...LONG_TIMEOUTS, firstByteMs: 1_000, idleMs: 400 };
