/** Answers of a hostile or failing file server, by path. */
import type { createServer } from 'node:http';

const MEGABYTE = 1_048_576;

export function serveFile(...[request, response]: Parameters<Parameters<typeof createServer>[1] & object>): void {
  const url = new URL(request.url ?? '/', 'http://files');
  switch (url.pathname) {
    case '/redirect': {
      const to = request.url?.split('&to=')[1] ?? '/redirect?status=302';
      response.writeHead(Number(url.searchParams.get('status') ?? 302), { location: to }).end();
      return;
    }
    case '/refused':
      response.writeHead(403).end('no');
      return;
    case '/cut':
      response.writeHead(200, { 'content-length': '100000' });
      response.write('RIFF', () => response.destroy());
      return;
    case '/late-page':
      response.writeHead(200, { 'content-type': 'audio/wav' }).end('<html></html>');
      return;
    case '/huge':
      response.writeHead(200, { 'content-length': String(26 * MEGABYTE) });
      response.end(Buffer.alloc(26 * MEGABYTE));
      return;
    case '/endless':
      response.writeHead(200);
      response.end(Buffer.alloc(40 * MEGABYTE));
      return;
    default:
      response.writeHead(404).end('missing');
  }
}
