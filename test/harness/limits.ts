/** Number of databases of the throwaway Redis. Each world picks one at random. */
export const REDIS_DATABASES = 10_000;
