/** A site that hurts whoever reads it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const WORDS = '<p>Words of a page that says something, and says it again. </p>'.repeat(20);

export interface HostileSite {
  /** `127.0.0.1:port`. */
  host: string;
  /** The paths that were asked for since the last call. */
  takeSeen(): string[];
  close(): void;
}

export interface RobotsText {
  /** Lines that name everybody. */
  agents: number;
  rules: number;
}

export async function openHostileSite(
  { agents, rules }: RobotsText = { agents: 10_000, rules: 10_000 },
): Promise<HostileSite> {
  const seen: string[] = [];
  const page = (more = '') => `<!doctype html><html><body><main>${WORDS}${more}</main></body></html>`;
  const bodies: Record<string, string> = {
    '/robots.txt': `${'user-agent:*\n'.repeat(agents)}${'allow:/\n'.repeat(rules)}`,
    '/page': page(),
    '/links': page(`<p>a${']('.repeat(20_000)}b</p>`),
    '/breaks': page('<br>'.repeat(15_000)),
  };
  const server = createServer((request, response) => {
    const { url = '' } = request;
    seen.push(url);
    const [path = ''] = url.split('?', 1);
    const type = path === '/robots.txt' ? 'text/plain' : 'text/html';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(bodies[path]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    takeSeen: () => seen.splice(0),
    close: () => server.close(),
  };
}
