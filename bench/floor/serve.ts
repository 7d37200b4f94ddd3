/** Servers for the floors, on the address in the environment. */
import { createServer, type ServerResponse } from 'node:http';
import type { Router } from '@koa/router';
import Koa from 'koa';
import { processEnvironment, readEnvironment } from '../../infra/config/environment.ts';

const BACKLOG = 4_096;

function address() {
  const { HOST: host, PORT: port } = readEnvironment(processEnvironment());
  return { host, port, backlog: BACKLOG };
}

export function serveRoutes(router: Router): void {
  const app = new Koa();
  app.silent = true;
  app.use(router.routes()).listen(address(), sayReady);
}

/** Serves without a framework, at minimal cost. `answer` gets the whole body. */
export function serveBare(answer: (text: string, response: ServerResponse) => void): void {
  createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => answer(text, response));
  }).listen(address(), sayReady);
}

function sayReady(): void {
  console.log('floor ready');
}
