/**
 * What every search engine speaks. An adapter asks once, never retries, and throws UpstreamFailure for whatever is no
 * answer; no hits are an answer.
 */
export interface SearchResult {
  title: string;
  url: string;
  /** What the page says, as text. */
  content: string;
  /** As the engine gives it; empty when it gives none. */
  date: string;
}

interface SearchOptions {
  /** At most so many results. */
  limit: number;
  signal?: AbortSignal | undefined;
}

export interface SearchProvider {
  search(query: string, options: SearchOptions): Promise<SearchResult[]>;
  close(): Promise<void>;
}
