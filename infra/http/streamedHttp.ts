/**
 * Calls whose answers may be too large to keep: the connection is read only as fast as the reader goes. Node's own client,
 * because a reader that undici 7 waits for can end the process (see unpaused.ts).
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import type { OperatorAddress } from './guardedConnector.ts';
import { ConnectFailure, operatorConnector } from './guardedConnector.ts';
import { TextHttpError } from './textHttpError.ts';

export interface StreamedHttpOptions extends OperatorAddress {
  /** With path and query. */
  url: string;
  headers?: Record<string, string>;
  timeouts: ProviderTimeouts;
}

export interface StreamedReply {
  status: number;
  /** Lower-case names. */
  headers: IncomingMessage['headers'];
  /** Read by one reader, who ends it by leaving the loop. Throws TextHttpError. */
  body: AsyncIterable<Buffer>;
}

export interface StreamedHttp {
  /** `text`: JSON. Resolves with the head of the answer, whatever its status. Throws TextHttpError. */
  post(text: Buffer, signal: AbortSignal): Promise<StreamedReply>;
  close(): void;
}

const MOST_CONNECTIONS = 256;
/** As textHttp.ts has it. */
const KEPT_MS = 4_000;

export function createStreamedHttp(options: StreamedHttpOptions): StreamedHttp {
  const agent = new GuardedAgent(options);
  const { hostname, port, protocol, pathname, search, host } = new URL(options.url);
  const target = {
    ...{ agent, method: 'POST', path: `${pathname}${search}`, setHost: false, maxHeaderSize: 32 * 1024 },
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (protocol === 'https:' ? 443 : 80),
  };
  const fixed = { 'user-agent': 'Farebox', accept: '*/*', host, 'content-type': 'application/json' };
  return {
    post(text, signal) {
      const length = { 'content-length': text.length };
      const sent = request({ ...target, headers: { ...options.headers, ...fixed, ...length } });
      return exchange({ sent, text, signal, timeouts: options.timeouts });
    },
    close: () => agent.destroy(),
  };
}

/** Its sockets are those of the guarded door, encrypted or not. */
class GuardedAgent extends Agent {
  private readonly connector: ReturnType<typeof operatorConnector>;
  private readonly protocolOfUrl: string;

  constructor(options: StreamedHttpOptions) {
    super({ keepAlive: true, maxSockets: MOST_CONNECTIONS, maxFreeSockets: 16, timeout: KEPT_MS });
    this.connector = operatorConnector(options, options.timeouts.connectMs);
    this.protocolOfUrl = new URL(options.url).protocol;
  }

  override createConnection(
    { host, port }: { host?: string | null; port?: number | string | null },
    done: (error: Error | null, socket: Duplex) => void,
  ): null {
    const hostname = host ?? '';
    const target = { hostname, host: hostname, protocol: this.protocolOfUrl, port: String(port ?? '') };
    this.connector(target, (error, socket) => done(error, socket as Duplex));
    return null;
  }
}

interface Exchange {
  sent: ClientRequest;
  text: Buffer;
  signal: AbortSignal;
  timeouts: ProviderTimeouts;
}

function exchange({ sent, text, signal, timeouts }: Exchange): Promise<StreamedReply> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => fail('timeout', new Error('first byte')), timeouts.firstByteMs);
    const stop = () => fail('stopped', signal.reason);
    let cause: TextHttpError | undefined;
    const fail = (failure: TextHttpError['failure'], error: unknown) => {
      cause ??= new TextHttpError(failure, sent.socket ? 'unknown' : 'not_sent', error);
      sent.destroy();
      settled();
      reject(cause);
    };
    const settled = () => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    };
    sent.on('error', (error) => fail(kindOf(error), error));
    sent.once('response', (response) => {
      settled();
      // Whoever gives up ends the connection, also before anything of the body was read.
      const end = () => response.destroy();
      signal.addEventListener('abort', end, { once: true });
      response.once('close', () => signal.removeEventListener('abort', end));
      response.on('error', () => undefined);
      const body = readBody(response, { signal, idleMs: timeouts.idleMs });
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    sent.end(text);
  });
}

function kindOf(error: Error): TextHttpError['failure'] {
  if (error instanceof ConnectFailure) return 'unreachable';
  return 'code' in error && String(error.code).startsWith('HPE_') ? 'garbage' : 'lost';
}

/** Only a silence of the service counts: the clock stands while its reader is busy. */
async function* readBody(
  response: IncomingMessage,
  { signal, idleMs }: { signal: AbortSignal; idleMs: number },
): AsyncGenerator<Buffer> {
  let silent = false;
  const listen = () =>
    setTimeout(() => {
      silent = true;
      response.destroy();
    }, idleMs);
  let silence = listen();
  try {
    for await (const piece of response) {
      clearTimeout(silence);
      yield piece as Buffer;
      silence = listen();
    }
    // What was ended from this side may look like an end.
    if (!response.complete) throw new Error('cut off');
  } catch (error) {
    if (silent) throw new TextHttpError('timeout', 'unknown', error);
    if (signal.aborted) throw new TextHttpError('stopped', 'unknown', signal.reason);
    throw new TextHttpError('lost', 'unknown', error);
  } finally {
    clearTimeout(silence);
  }
}
