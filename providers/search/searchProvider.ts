/**
 * What every search engine speaks. An adapter asks once, never retries, and throws UpstreamFailure for whatever is no
 * answer; no hits are an answer.
 */
import type { z } from 'zod';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { ServiceHttp, WholeReply } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { reasonOfCall } from '../shared/mediaFailures.ts';
import { garbageFailure, parseJson } from '../shared/textFailures.ts';

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

/** The HTTP API of one engine. */
interface EngineApi<Answer extends z.ZodType> {
  http: ServiceHttp;
  path: string;
  /** The service gives no more in one answer. */
  maxResults?: number;
  queryOf(query: string, count: number): Record<string, string>;
  answer: Answer;
  /** Titles and contents may be marked up. Throws UpstreamFailure where nobody looked. */
  resultsOf(answer: z.output<Answer>): SearchResult[];
  /** For every status but 200. */
  failureOf(reply: WholeReply): UpstreamFailure;
}

/** Throws the signal's reason when the caller gave up. */
export function createSearchEngine<Answer extends z.ZodType>(api: EngineApi<Answer>): SearchProvider {
  const { http: engine, path, maxResults = Number.POSITIVE_INFINITY, queryOf, answer, resultsOf, failureOf } = api;
  return {
    async search(query, { limit, signal }) {
      const count = Math.min(limit, maxResults);
      const headers = { accept: 'application/json' };
      const call = { method: 'GET', path, headers, query: queryOf(query, count), signal } as const;
      const reply = await engine.request(call).catch((error: unknown) => {
        if (signal?.aborted) throw signal.reason;
        if (!(error instanceof ServiceHttpError)) throw error;
        throw new UpstreamFailure({ reason: reasonOfCall(error), detail: error.message, cause: error });
      });
      if (reply.status !== 200) throw failureOf(reply);
      const json = parseJson(reply.body);
      if (json === undefined) throw garbageFailure('no JSON');
      const parsed = answer.safeParse(json);
      if (!parsed.success) throw garbageFailure('another shape');
      const results = resultsOf(parsed.data).slice(0, count);
      return results.map((result) => ({
        ...result,
        title: plainText(result.title),
        content: plainText(result.content),
      }));
    },
    close: () => engine.close(),
  };
}

/** Engines mark what was searched for with tags and write entities: a result is text. */
const NAMED: Record<string, string | undefined> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  hellip: '…',
  ndash: '–',
  mdash: '—',
};
const LONGEST = 10_000;

export function plainText(html: string): string {
  return html
    .slice(0, LONGEST)
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});/gi, decoded)
    .replace(/\s+/g, ' ')
    .trim();
}

function decoded(entity: string, name: string): string {
  if (!name.startsWith('#')) return NAMED[name.toLowerCase()] ?? entity;
  const isHexadecimal = /^#x/i.test(name);
  const code = Number.parseInt(name.slice(isHexadecimal ? 2 : 1), isHexadecimal ? 16 : 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity;
}
