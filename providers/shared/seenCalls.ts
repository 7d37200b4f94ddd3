const MAX_SEEN = 10_000;

/**
 * Remembers signed calls while they could be replayed; drops the oldest above `MAX_SEEN`. The memory is local: another
 * process accepts a replay once more, which only wakes a job.
 */
export function createSeenCalls(): (call: string, untilMs: number) => boolean {
  const seen = new Map<string, number>();
  return (call, untilMs) => {
    const nowMs = Date.now();
    for (const [old, endMs] of seen) {
      if (endMs >= nowMs && seen.size < MAX_SEEN) break;
      seen.delete(old);
    }
    if (seen.has(call)) return false;
    seen.set(call, untilMs);
    return true;
  };
}
