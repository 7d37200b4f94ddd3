/** Faults of fal or of a gateway before it (FAULT-2, FAULT-3). */
import type { ServerResponse } from 'node:http';

/** Stage of a fault. `keys` are the published keys. */
export type FalStage = 'submit' | 'status' | 'result' | 'cancel' | 'output' | 'initiate' | 'put' | 'complete' | 'keys';

export type FalFault =
  /** Closes the connection. At `submit` the order is accepted first. */
  | { kind: 'destroy' }
  /** Never responds. At `submit` the order is accepted first. */
  | { kind: 'hang' }
  /** Closes the connection without accepting anything. */
  | { kind: 'reset' }
  /** Sends headers and half of the body, then closes the connection. */
  | { kind: 'cut'; body: string }
  /** Sends the body in pieces with a pause after each. Without `bytes` it never ends. */
  | { kind: 'pieces'; bytes?: Buffer; pieces: number; everyMs: number }
  | { kind: 'reply'; status: number; headers?: Record<string, string>; body?: unknown };

export function strike(response: ServerResponse, fault: FalFault): void {
  switch (fault.kind) {
    case 'destroy':
    case 'reset':
      response.destroy();
      return;
    case 'hang':
      return;
    case 'cut':
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': fault.body.length * 2,
      });
      response.write(fault.body, () => response.destroy());
      return;
    case 'pieces':
      sendPieces(response, fault);
      return;
    case 'reply': {
      const { status, headers, body } = fault;
      const raw = typeof body === 'string' || Buffer.isBuffer(body);
      const type = raw ? 'text/html' : 'application/json';
      response.writeHead(status, { 'content-type': type, ...headers });
      response.end(raw ? body : JSON.stringify(body ?? {}));
    }
  }
}

function sendPieces(response: ServerResponse, { bytes, pieces, everyMs }: Extract<FalFault, { kind: 'pieces' }>): void {
  response.writeHead(200, { 'content-type': 'audio/mpeg' });
  const size = bytes === undefined ? 1 : Math.ceil(bytes.length / pieces);
  let sent = 0;
  const timer = setInterval(() => {
    const piece = bytes === undefined ? Buffer.alloc(1, 0xff) : bytes.subarray(sent, sent + size);
    sent += size;
    response.write(piece);
    if (bytes !== undefined && sent >= bytes.length) response.end();
  }, everyMs);
  response.on('close', () => clearInterval(timer));
  response.on('finish', () => clearInterval(timer));
}
