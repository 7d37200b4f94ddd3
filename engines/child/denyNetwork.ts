/** For a process that only computes: no library in it can open a connection. The channel to the parent stays. */
import { Socket } from 'node:net';

export function denyNetwork(): void {
  const refuse = (): never => {
    throw new Error('this process opens no connections');
  };
  Socket.prototype.connect = refuse;
  globalThis.fetch = async () => refuse();
}
