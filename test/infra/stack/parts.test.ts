import net from 'node:net';
import { expect, test } from 'vitest';
import { redisProcess } from '../../../infra/stack/parts/redis.ts';

test('a Redis that hangs up instead of answering is not ready, and is not waited for', async () => {
  const hangsUp = net.createServer((socket) => socket.resume().end());
  await new Promise<void>((resolve) => hangsUp.listen(0, '127.0.0.1', resolve));
  const { port } = hangsUp.address() as net.AddressInfo;
  const program = { path: '/usr/bin/redis-server', origin: 'PATH' };
  const redis = redisProcess({ program, folder: '/tmp', port });
  await expect(redis.check(0)).rejects.toThrow('no answer');
  await new Promise((resolve) => hangsUp.close(resolve));
});
