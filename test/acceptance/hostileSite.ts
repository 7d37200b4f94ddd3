/** A site that hurts whoever reads it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const ROBOTS = `${'user-agent:*\n'.repeat(10_000)}${'allow:/\n'.repeat(10_000)}`;
const WORDS = '<p>Words of a page that says something, and says it again. </p>'.repeat(20);

export interface HostileSite {
  /** `127.0.0.1:port`. */
  host: string;
  /** The paths that were asked for since the last call. */
  takeSeen(): string[];
  close(): void;
}

export async function openHostileSite(): Promise<HostileSite> {
  const seen: string[] = [];
  const bodies: Record<string, string> = {
    '/robots.txt': ROBOTS,
    '/page': `<!doctype html><html><body><main>${WORDS}</main></body></html>`,
    '/links': `<!doctype html><html><body><main>${WORDS}<p>a${']('.repeat(20_000)}b</p></main></body></html>`,
  };
  const server = createServer((request, response) => {
    const { url = '' } = request;
    seen.push(url);
    const type = url === '/robots.txt' ? 'text/plain' : 'text/html';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(bodies[url]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    takeSeen: () => seen.splice(0),
    close: () => server.close(),
  };
}
