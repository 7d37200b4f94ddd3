/** One connection that sends the same request again and again, and costs next to nothing: it shares its core with others. */
import net from 'node:net';

export interface LeanRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface LeanClient {
  /** Resolves with the last byte of the answer, which must have a Content-Length. */
  ask(): Promise<void>;
  close(): void;
}

const LENGTH = /\r\ncontent-length: (\d+)/i;

export async function openLeanClient({ method, url, headers, body }: LeanRequest): Promise<LeanClient> {
  const { hostname, port, pathname, host } = new URL(url);
  const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const sent = Buffer.from(`${method} ${pathname} HTTP/1.1\r\n${head}\r\n${body}`);
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  let received = '';
  let done: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(LENGTH.exec(received)?.[1] ?? Number.NaN);
    if (received.length < end + 4 + length) return;
    if (received.startsWith('HTTP/1.1 200 ')) done();
    else fail(new Error(received.slice(0, end)));
    received = '';
  });
  socket.on('close', () => fail(new Error('the connection was closed')));
  return {
    ask: () =>
      new Promise((resolve, reject) => {
        done = resolve;
        fail = reject;
        socket.write(sent);
      }),
    close: () => socket.destroy(),
  };
}
