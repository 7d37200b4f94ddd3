/**
 * `/openapi.json`, and `/docs`: the same as a page from which requests can be sent. Its Content-Security-Policy allows
 * no other origin. Open, since it reveals no more than a price list.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Router } from '@koa/router';
import { etagOf, matchesEtag } from '../http/etag.ts';
import type { RequestState } from '../http/requestState.ts';
import type { Route } from '../http/route.ts';
import { describeApi } from './document.ts';

export interface DocsOptions {
  routes: readonly Route[];
  brand: string;
  /** `YYYYMMDD.HHMMSS` of the build. */
  version: string;
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // The page sets sizes by style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#page',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

interface ServedFile {
  type: string;
  bytes(): Promise<Buffer>;
}

export function addDocsRoutes(router: Router<RequestState>, options: DocsOptions): void {
  const served = everythingServed(options);
  for (const [place, file] of served) {
    let known: Promise<{ bytes: Buffer; etag: string }> | undefined;
    router.get(place, async (ctx) => {
      ctx.state.route = place.startsWith('/docs') ? '/docs' : place;
      known ??= file.bytes().then((bytes) => ({ bytes, etag: etagOf(bytes) }));
      const { bytes, etag } = await known.catch((error: unknown) => {
        known = undefined;
        throw error;
      });
      ctx.set({ ETag: etag, 'Cache-Control': 'no-cache', 'Content-Security-Policy': POLICY });
      if (matchesEtag(ctx.req.headers['if-none-match'], etag)) {
        ctx.status = 304;
        return;
      }
      ctx.type = file.type;
      ctx.body = bytes;
    });
  }
}

function everythingServed({ routes, brand, version }: DocsOptions): Map<string, ServedFile> {
  const text = (type: string, make: () => string): ServedFile => {
    return { type, bytes: async () => Buffer.from(make()) };
  };
  return new Map([
    [
      '/openapi.json',
      text('application/json; charset=utf-8', () => {
        return JSON.stringify(describeApi({ routes, title: brand, version }));
      }),
    ],
    ['/docs', text('text/html; charset=utf-8', () => pageOf(brand))],
    ['/docs/start.js', text('text/javascript; charset=utf-8', () => START)],
    ['/docs/swagger-ui-bundle.js', packaged('swagger-ui-bundle.js', 'text/javascript; charset=utf-8')],
    ['/docs/swagger-ui.css', packaged('swagger-ui.css', 'text/css; charset=utf-8')],
    ['/docs/favicon.png', packaged('favicon-32x32.png', 'image/png')],
  ]);
}

/** A file of the npm package that draws the page. */
function packaged(name: string, type: string): ServedFile {
  return {
    type,
    bytes() {
      const folder = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
      return readFile(path.join(folder, name));
    },
  };
}

function pageOf(brand: string): string {
  const title = `${brand} API`.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="/docs/favicon.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<noscript>The description of this API is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;
}
