/** Numbered databases of the throwaway Redis: one per world, picked at random. */
export const REDIS_DATABASES = 10_000;
