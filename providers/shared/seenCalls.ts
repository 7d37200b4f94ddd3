const MAX_SEEN = 10_000;

/**
 * Remembers signed calls for as long as they could be repeated at all; when there are too many, the oldest go first. The
 * memory is this process's own: another replica takes a copy of a call once more, which only wakes a job.
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
