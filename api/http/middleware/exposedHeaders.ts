/** Response headers that a page may read, beyond those that every browser shows (API-23). */

export const EXPOSED_HEADERS: readonly string[] = [
  ...['x-request-id', 'retry-after', 'www-authenticate', 'allow', 'etag', 'link', 'deprecation', 'sunset'],
  ...['accept-ranges', 'content-range', 'content-disposition', 'content-encoding', 'preference-applied'],
  ...['payment-required', 'payment-response', 'x-balance-remaining', 'idempotent-replayed'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  ...['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-resets'],
  ...['x-next-cursor', 'x-pagination-limit', 'x-pagination-page', 'x-pagination-total', 'x-pagination-total-pages'],
  ...['x-service-model-id', 'x-service-model-name', 'x-service-model-router', 'x-service-overhead-ms'],
  ...['x-service-model-deprecation-warning', 'x-service-model-deprecation-date'],
  ...['x-service-deprecated', 'x-service-deprecated-replacement'],
  ...['x-service-inference-time', 'x-service-audio-format', 'x-service-audio-duration', 'x-service-job-state'],
  ...['x-service-enhanced-prompt', 'x-service-is-blurred', 'x-service-is-content-violation'],
  ...['x-service-rpc-credits', 'x-service-rpc-cost-usd', 'x-service-rpc-cache', 'x-service-ignored'],
];
