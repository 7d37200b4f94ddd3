/** Headers that many answers carry (LIMIT-9, LIMIT-10), and references to them. */

function header(description: string, type: 'string' | 'integer' = 'integer') {
  return { description, schema: { type } } as const;
}

export const COMMON_HEADERS = {
  'X-Request-ID': header('32 hex digits: names the request in the log, and is its trace id.', 'string'),
};

/** Windows of the model, else of the route. */
export const WINDOW_HEADERS = {
  'x-ratelimit-limit-requests': header('Requests a minute.'),
  'x-ratelimit-remaining-requests': header('What is left of them.'),
  'x-ratelimit-reset-requests': header('Unix seconds at which the oldest counts no longer.'),
  'x-ratelimit-limit-tokens': header('Tokens a minute; left out where there is no such limit.'),
  'x-ratelimit-remaining-tokens': header('What is left of them.'),
  'x-ratelimit-reset-tokens': header('Seconds until the oldest count no longer.'),
};

export const LIMIT_HEADERS = {
  ...WINDOW_HEADERS,
  'x-ratelimit-remaining': header('Failed requests that are left in this window.'),
  'x-ratelimit-resets': header('Unix milliseconds at which that window is over.'),
};

/** Headers of routes that report their limits in a 429 only (LIMIT-14). */
export const REFUSAL_HEADERS = {
  'X-RateLimit-Limit': header('What is allowed in the time that was exceeded.'),
  'X-RateLimit-Remaining': header('What is left of it.'),
  'X-RateLimit-Reset': header('Unix seconds at which the oldest counts no longer.'),
};

/** Headers of routes that a wallet may call. */
export const WALLET_HEADERS = {
  'X-Balance-Remaining': header(
    'USD that the wallet has left, as a decimal; of a stream, what its hold leaves. For callers with a wallet only.',
    'string',
  ),
};

export function headerReferences(headers: Readonly<Record<string, unknown>>): Record<string, { $ref: string }> {
  const names = Object.keys(headers);
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
