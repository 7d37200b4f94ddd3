/** Sends raw bytes and returns the response until the connection ends or is quiet. */
import net from 'node:net';

export interface RawOptions {
  /** Time without a byte after which the response is returned. */
  quietMs?: number;
}

export function sendRaw(port: number, bytes: string | Buffer, { quietMs = 500 }: RawOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = net.connect(port, '127.0.0.1');
    const end = () => {
      socket.destroy();
      resolve(Buffer.concat(chunks).toString('latin1'));
    };
    socket.setTimeout(quietMs, end);
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') end();
      else reject(error);
    });
  });
}
