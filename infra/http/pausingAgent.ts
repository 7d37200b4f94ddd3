/**
 * Connections for a reader that may be slower than the service: by Node's own client, because undici 7 can end the
 * process when it is paused (see unpaused.ts). Has the part of undici's agent that serviceHttp.ts uses.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { buildConnector, Dispatcher, Agent as UndiciAgent } from 'undici';
import type { ServiceExchange } from './serviceExchange.ts';

const MAX_CONNECTIONS = 256;
const MAX_FREE_CONNECTIONS = 16;

type PostDispatch = Dispatcher.DispatchOptions & { headers: Record<string, string>; body: string | Buffer };

interface PausingAgentOptions {
  baseUrl: string;
  connect: buildConnector.connector;
  /** Time that an idle connection is kept. */
  keptMs: number;
}

export function createPausingAgent(options: PausingAgentOptions): Pick<UndiciAgent, 'dispatch' | 'close' | 'destroy'> {
  const { hostname, port, protocol, host } = new URL(options.baseUrl);
  const agent = new GuardedAgent(options, protocol);
  const target = {
    ...{ agent, method: 'POST', setHost: false, maxHeaderSize: 32 * 1024 },
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (protocol === 'https:' ? 443 : 80),
  };
  const end = async () => agent.destroy();
  return {
    dispatch({ path, headers, body }: PostDispatch, exchange: ServiceExchange) {
      const written = { ...headers, host, 'content-length': Buffer.byteLength(body) };
      const sent = request({ ...target, path, headers: written });
      let received: IncomingMessage | undefined;
      const controller = {
        abort: () => void (received ?? sent).destroy(),
        pause: () => void received?.pause(),
        resume: () => void received?.resume(),
      };
      const fail = (error: Error) => exchange.onResponseError(controller, error);
      sent.once('socket', () => exchange.onRequestStart(controller));
      sent.on('error', fail);
      sent.once('response', (response) => {
        received = response;
        exchange.onResponseStart(controller, response.statusCode ?? 0, response.headers);
        response.on('data', (piece: Buffer) => exchange.onResponseData(controller, piece));
        response.on('error', fail);
        // A body that this side aborted may look complete.
        response.once('end', () => (response.complete ? exchange.onResponseEnd() : fail(CUT_OFF)));
        response.once('close', () => fail(CUT_OFF));
      });
      sent.end(body);
      return true;
    },
    close: end,
    destroy: end,
  };
}

const CUT_OFF = new Error('cut off');

/** Its sockets are those of the guarded connector, encrypted or not. */
class GuardedAgent extends Agent {
  private readonly connector: buildConnector.connector;
  private readonly protocolOfUrl: string;

  constructor({ connect, keptMs }: PausingAgentOptions, protocol: string) {
    const limits = { maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_FREE_CONNECTIONS };
    super({ keepAlive: true, timeout: keptMs, ...limits });
    this.connector = connect;
    this.protocolOfUrl = protocol;
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
