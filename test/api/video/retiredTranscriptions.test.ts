import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.stop());

const PATH = '/video/transcriptions';

describe('POST /video/transcriptions', () => {
  it('is gone for everyone, names its replacement, and answers one address 60 times a minute', async () => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(100_000)]), 'film.mp4');
    const sent: RequestInit[] = [
      {},
      { headers: { authorization: 'Bearer nonsense' } },
      { body: '{"video_url":', headers: { 'content-type': 'application/json' } },
      { body: form },
    ];
    for (const init of sent) {
      const response = await api.call(PATH, { method: 'POST', ...init });
      expect([response.status, await response.json()]).toEqual([
        410,
        { error: expect.stringContaining('POST /chat/completions') },
      ]);
      expect(response.headers.get('deprecation')).toBe('true');
      expect(response.headers.get('link')).toBe(
        '</api/v1/chat/completions>; rel="successor-version", </api/v1/models>; rel="describedby"',
      );
    }
    const statuses: number[] = [];
    for (let turn = sent.length; turn < 62; turn += 1) {
      statuses.push((await api.call(PATH, { method: 'POST' })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 60 - sent.length }, () => 410), 429, 429]);
    const refused = await api.call(PATH, { method: 'POST' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
  });
});
