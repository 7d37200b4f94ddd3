/** Site with hostile pages and robots.txt. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const WORDS = '<p>Words of a page that says something, and says it again. </p>'.repeat(20);

export interface HostileSite {
  /** `127.0.0.1:port`. */
  host: string;
  /** Paths requested since the last call. */
  takeSeen(): string[];
  close(): void;
}

/** Robots.txt that repeats `user-agent:*`. */
export const repeatedNames = (times: number) => `${'user-agent:*\n'.repeat(times)}${'allow:/\n'.repeat(times)}`;
const RUN = 'a'.repeat(250);
/** Rules that match URLs of this site except for one letter in the middle. */
const NEAR_MISSES = `user-agent:*\n${`allow:/*${RUN}b${RUN}\n`.repeat(1_000)}`;

export async function openHostileSite(robots: string = repeatedNames(10_000)): Promise<HostileSite> {
  const seen: string[] = [];
  const page = (more = '') => `<!doctype html><html><body><main>${WORDS}${more}</main></body></html>`;
  const bodies: Record<string, string> = {
    '/robots.txt': robots,
    '/page': page(),
    '/links': page(`<p>a${']('.repeat(20_000)}b</p>`),
    '/breaks': page('<br>'.repeat(15_000)),
  };
  const server = createServer((request, response) => {
    const { url = '' } = request;
    seen.push(url);
    const [path = ''] = url.split('?', 1);
    if (path === '/moved') {
      response.writeHead(302, { location: `/${'a'.repeat(4_000)}` }).end();
      return;
    }
    const type = path === '/robots.txt' ? 'text/plain' : 'text/html';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` });
    response.end(bodies[path] ?? bodies['/page']);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    takeSeen: () => seen.splice(0),
    close: () => server.close(),
  };
}

export interface PlainSites {
  hosts: string[];
  /** URLs in the target of plain rows. */
  urls: { site: string; ruledSite: string };
  takeSeen(): string[];
  close(): void;
}

export async function openPlainSites(): Promise<PlainSites> {
  const [site, ruled] = await Promise.all([openHostileSite(), openHostileSite(NEAR_MISSES)]);
  return {
    hosts: [site.host, ruled.host],
    urls: { site: `http://${site.host}`, ruledSite: `http://${ruled.host}` },
    takeSeen: () => [...site.takeSeen(), ...ruled.takeSeen()],
    close() {
      site.close();
      ruled.close();
    },
  };
}
