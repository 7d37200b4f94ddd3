/**
 * Interface of search engines. An adapter sends one request, never retries, and throws UpstreamFailure for an invalid
 * reply. An empty list is valid.
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
  /** Excerpt of the page as plain text. */
  content: string;
  /** Date in the engine's form; empty if it gives none. */
  date: string;
}

interface SearchOptions {
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
  /** Most results that the service returns per request. */
  maxResults?: number;
  queryOf(query: string, count: number): Record<string, string>;
  answer: Answer;
  /** Titles and contents may contain markup. Throws UpstreamFailure if no search took place. */
  resultsOf(answer: z.output<Answer>): SearchResult[];
  /** Handles every status but 200. */
  failureOf(reply: WholeReply): UpstreamFailure;
}

/** Throws the signal's reason on abort. */
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

/** Engines highlight matches with tags and encode entities; a result is plain text. */
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
const MAX_HTML_LETTERS = 10_000;

export function plainText(html: string): string {
  return html
    .slice(0, MAX_HTML_LETTERS)
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
