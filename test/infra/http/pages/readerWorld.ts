/** A page reader and its sites, all on this machine: their names resolve to it, and it is allowed by name. */
import { FareboxError } from '../../../../domain/errors.ts';
import { createPageReader, type PageReaderOptions, type ReadPage } from '../../../../infra/http/pages/pageReader.ts';
import { type Behaviour, type HostileServer, hostileServer } from '../hostileServer.ts';

export interface ReaderWorld {
  server: HostileServer;
  /** URL of a path on the allowed site. */
  at(path: string): string;
  read(url: string, options?: Partial<PageReaderOptions>): Promise<ReadPage>;
  /** `code: message` of the error, or `read`. */
  outcome(url: string, options?: Partial<PageReaderOptions>): Promise<string>;
  close(): Promise<void>;
}

export async function openReaderWorld(behaviours: Record<string, Behaviour>): Promise<ReaderWorld> {
  const server = await hostileServer(behaviours);
  const allowPrivateHosts = [`127.0.0.1:${server.port}`, `site.example.com:${server.port}`];
  const patience = { convertTimeoutMs: 100_000, fetchTimeoutMs: 100_000 };
  const usual = { allowPrivateHosts, failureFloorMs: 1, maxChildren: 1, ...patience };
  const shared = createPageReader(usual);
  const read = async (url: string, options?: Partial<PageReaderOptions>): Promise<ReadPage> => {
    if (options === undefined) return shared.read(url);
    const reader = createPageReader({ ...usual, ...options });
    return reader.read(url).finally(() => reader.close());
  };
  return {
    server,
    at: (path) => `http://127.0.0.1:${server.port}${path}`,
    read,
    async outcome(url, options) {
      try {
        await read(url, options);
        return 'read';
      } catch (error) {
        if (!(error instanceof FareboxError)) throw error;
        return `${error.code}: ${error.message}`;
      }
    },
    async close() {
      shared.close();
      await server.close();
    },
  };
}

export function page(body: string | Buffer, type = 'text/html; charset=utf-8', status = 200): Behaviour {
  return (_, response) => response.writeHead(status, { 'content-type': type }).end(body);
}

export function article(body: string, head = ''): string {
  return `<!doctype html><html><head><title>A page</title>${head}</head><body><main>${body}</main></body></html>`;
}
