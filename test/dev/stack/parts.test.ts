import net from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { redisProcess } from '../../../dev/stack/parts/redis.ts';
import { services } from '../../harness/services.ts';

test('a Redis that hangs up instead of answering is not ready, and is not waited for', async () => {
  const hangsUp = net.createServer((socket) => socket.resume().end());
  await new Promise<void>((resolve) => hangsUp.listen(0, '127.0.0.1', resolve));
  const { port } = hangsUp.address() as net.AddressInfo;
  const program = { path: '/usr/bin/redis-server', origin: 'PATH' };
  const redis = redisProcess({ program, folder: services().folder, port, password: 'secret' });
  await expect(redis.check(0)).rejects.toThrow('no answer');
  await new Promise((resolve) => hangsUp.close(resolve));
});

test('another user of the machine, who knows the port of Redis, can do nothing there', async () => {
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
