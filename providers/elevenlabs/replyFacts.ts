const TOLD = ['request-id', 'current-concurrent-requests', 'maximum-concurrent-requests'] as const;

/** What a reply's headers tell an operator: the service's request id and how many of our slots there are taken. */
export function replyFacts(headers: Record<string, string>): string {
  return TOLD.flatMap((name) => {
    const value = headers[name];
    return value !== undefined && /^[\w.-]{1,100}$/.test(value) ? [` ${name}=${value}`] : [];
  }).join('');
}
