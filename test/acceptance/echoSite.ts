/** Site whose pages repeat the words of their URLs. */
import { createServer, type Server } from 'node:http';
import { toneWav } from './recordings.ts';

export type EchoSite = Server & { heard: Set<string> };

const WORDS = 'A page about fares, with enough words to be worth reading. '.repeat(10);

export async function serveEcho(pattern: RegExp): Promise<EchoSite> {
  const heard = new Set<string>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    const [word = 'nothing'] = url.href.match(pattern) ?? [];
    if (word !== 'nothing') heard.add(word);
    const page = `<html><head><title>${word}</title></head><body><article><p>${word} ${WORDS}</p></article></body></html>`;
    const html = { 'content-type': 'text/html' };
    switch (url.pathname.split('/')[1]) {
      case 'page':
        return response.writeHead(200, html).end(page);
      case 'missing':
        return response.writeHead(404, html).end(page);
      case 'odd':
        return response.writeHead(200, { 'content-type': `application/${word}` }).end(word);
      case 'away':
        return response.writeHead(302, { location: `http://127.0.0.1:1/${word}` }).end();
      case 'wall':
        return response.writeHead(403, { ...html, server: 'cloudflare', 'cf-mitigated': word }).end(page);
      case 'recording':
        return response.writeHead(200, { 'content-type': 'audio/wav' }).end(toneWav(1));
      default:
        return response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(server, { heard });
}
