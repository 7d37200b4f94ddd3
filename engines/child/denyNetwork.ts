/** For a process that only computes: whatever a library in it tries, no connection leaves it. Its channel to us stays. */
import { Socket } from 'node:net';

export function denyNetwork(): void {
  const refuse = (): never => {
    throw new Error('this process opens no connections');
  };
  Socket.prototype.connect = refuse;
  globalThis.fetch = async () => refuse();
}
