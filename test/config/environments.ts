/** A complete environment for configuration tests; nothing listens at its addresses. */
export const COMPLETE: NodeJS.ProcessEnv = {
  DATABASE_URL: 'postgres://farebox:db-password@127.0.0.1:5432/farebox',
  REDIS_URL: 'redis://127.0.0.1:6379',
  S3_ENDPOINT: 'http://127.0.0.1:9000',
  S3_BUCKET: 'farebox-media',
  S3_ACCESS_KEY_ID: 'access',
  S3_SECRET_ACCESS_KEY: 'secret-of-the-bucket',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
};

/** Message of the error that `work` throws. Fails if it does not throw. */
export function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('nothing was thrown');
}
