import { describe, expect, it, vi } from 'vitest';
import { createKeyCache } from '../../../api/auth/keyCache.ts';
import { createKeyUse } from '../../../api/auth/keyUse.ts';
import type { FoundKey } from '../../../infra/postgres/keys.ts';

const hashOf = (name: string) => Buffer.from(name).toString('hex');
const key = (name: string): FoundKey => ({
  keyId: name,
  accountId: `account of ${name}`,
  keyType: 'ADMIN',
  modelPrivacy: 'ALL',
  models: null,
  expiresAt: null,
  revoked: false,
  accountActive: true,
  readAt: new Date(0),
});

function cacheOver(keys: Set<string>, listening = () => true) {
  const find = vi.fn(async (secretHash: Buffer) => {
    const name = secretHash.toString();
    return keys.has(name) ? key(name) : undefined;
  });
  return { find, cache: createKeyCache({ find, listening }) };
}

describe('the key cache', () => {
  it('queries the database once for simultaneous requests, and not again for seconds', async () => {
    const { cache, find } = cacheOver(new Set(['a']));
    await Promise.all(Array.from({ length: 100 }, () => cache.get(hashOf('a'))));
    expect(cache.get(hashOf('a'))).toEqual(key('a'));
    expect(find).toHaveBeenCalledTimes(1);
  });

  it('forgets a changed key and the keys of a changed account, and no other', async () => {
    const { cache, find } = cacheOver(new Set(['a', 'b', 'c']));
    for (const name of ['a', 'b', 'c']) await cache.get(hashOf(name));
    cache.forget({ kind: 'key', secretHash: hashOf('a') });
    cache.forget({ kind: 'account', accountId: 'account of b' });
    for (const name of ['a', 'b', 'c']) await cache.get(hashOf(name));
    expect(find).toHaveBeenCalledTimes(5);
  });

  it('does not keep an answer whose query began before a change and ended after it', async () => {
    let answer: (found: FoundKey | undefined) => void = () => undefined;
    const find = vi.fn(() => new Promise<FoundKey | undefined>((resolve) => (answer = resolve)));
    const cache = createKeyCache({ find, listening: () => true });
    const early = cache.get(hashOf('a'));
    cache.forget({ kind: 'key', secretHash: hashOf('a') });
    const late = cache.get(hashOf('a'));
    answer({ ...key('a'), revoked: true });
    expect((await late)?.revoked).toBe(true);
    expect(find).toHaveBeenCalledTimes(2);
    void early;
  });

  it('does not keep a failed query', async () => {
    const find = vi.fn().mockRejectedValueOnce(new Error('gone')).mockResolvedValueOnce(key('a'));
    const cache = createKeyCache({ find, listening: () => true });
    await expect(cache.get(hashOf('a'))).rejects.toThrow('gone');
    expect(await cache.get(hashOf('a'))).toEqual(key('a'));
  });

  it('keeps known keys for at most a second while no changes are announced, and unknown keys never', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      let listening = true;
      const { cache, find } = cacheOver(new Set(['a']), () => listening);
      await cache.get(hashOf('a'));
      await cache.get(hashOf('none'));
      vi.advanceTimersByTime(1_500);
      await cache.get(hashOf('a'));
      expect(find).toHaveBeenCalledTimes(2);
      await cache.get(hashOf('none'));
      expect(find).toHaveBeenCalledTimes(3);
      listening = false;
      await cache.get(hashOf('a'));
      expect(find).toHaveBeenCalledTimes(4);
    } finally {
      vi.useRealTimers();
    }
  });

  it('evicts no known key under a flood of invented keys', async () => {
    const { cache, find } = cacheOver(new Set(['a']));
    await cache.get(hashOf('a'));
    for (let index = 0; index < 30_000; index += 1) await cache.get(hashOf(`invented ${index}`));
    find.mockClear();
    expect(cache.get(hashOf('a'))).toEqual(key('a'));
    expect(find).not.toHaveBeenCalled();
  });
});

describe('the time of a last use', () => {
  it('is written once a minute per key, in a batch with other keys', async () => {
    const write = vi.fn(async (_uses: ReadonlyMap<string, Date>) => undefined);
    const use = createKeyUse(write);
    for (let index = 0; index < 100; index += 1) use.touch(index % 2 ? 'a' : 'b');
    await use.flush();
    use.touch('a');
    await use.close();
    expect(write).toHaveBeenCalledTimes(1);
    expect([...(write.mock.calls[0]?.[0].keys() ?? [])].sort()).toEqual(['a', 'b']);
  });

  it('survives a failed write, and is written at the next use', async () => {
    const write = vi.fn().mockRejectedValueOnce(new Error('gone')).mockResolvedValue(undefined);
    const use = createKeyUse(write);
    use.touch('a');
    await use.flush();
    use.touch('a');
    await use.close();
    expect(write).toHaveBeenCalledTimes(2);
  });
});
