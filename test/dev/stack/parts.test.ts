import net from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { redisProcess } from '../../../dev/stack/parts/redis.ts';
import { services } from '../../harness/services.ts';

test('treats a Redis that closes the connection as not ready, without a wait', async () => {
  const hangsUp = net.createServer((socket) => socket.resume().end());
  await new Promise<void>((resolve) => hangsUp.listen(0, '127.0.0.1', resolve));
  const { port } = hangsUp.address() as net.AddressInfo;
  const program = { path: '/usr/bin/redis-server', origin: 'PATH' };
  const redis = redisProcess({ program, folder: services().folder, port, password: 'secret' });
  await expect(redis.check(0)).rejects.toThrow('no answer');
  await new Promise((resolve) => hangsUp.close(resolve));
});

test('gives another user of the machine no access through the Redis port', async () => {
  const { redisUrl } = services();
  const { hostname, port } = new URL(redisUrl);
  const [stranger, service] = [new Redis(`redis://${hostname}:${port}`), new Redis(redisUrl)];
  stranger.on('error', () => undefined);
  try {
    await expect(stranger.set('limit', '0')).rejects.toThrow('NOAUTH');
    expect(await service.ping()).toBe('PONG');
  } finally {
    stranger.disconnect();
    service.disconnect();
  }
});
