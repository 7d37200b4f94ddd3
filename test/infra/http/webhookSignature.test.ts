import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { printSecret, signatureHeaders } from '../../../infra/http/webhookSignature.ts';

/** The published example of Standard Webhooks. */
const PUBLISHED = {
  secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  sentAt: new Date(1_614_265_330_000),
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

describe('a signature', () => {
  it('equals the published example of the convention', () => {
    const headers = signatureHeaders([Buffer.from(PUBLISHED.secret, 'base64')], PUBLISHED);
    expect(headers).toEqual({
      'webhook-id': PUBLISHED.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': PUBLISHED.signature,
    });
  });

  it.each([
    ['plain words', '{"id":"1","type":"job.stored"}'],
    ['every script', '{"error":"Größe 日本語 🙂"}'],
    ['nothing', '{}'],
    ['much', JSON.stringify({ text: 'x'.repeat(100_000) })],
  ])("over %s is accepted by the convention's library, with either of two secrets", (_what, body) => {
    const [present, previous] = [randomBytes(32), randomBytes(32)];
    const headers = signatureHeaders([present, previous], { id: 'an-id', sentAt: new Date(), body });
    for (const secret of [present, previous]) {
      expect(new Webhook(printSecret(secret)).verify(body, headers)).toEqual(JSON.parse(body));
    }
  });

  it('is refused for another body, another id, another time and another secret', () => {
    const secret = randomBytes(32);
    const body = '{"price":1}';
    const headers = signatureHeaders([secret], { id: 'an-id', sentAt: new Date(), body });
    const verify = (changed: { body?: string; headers?: Record<string, string>; secret?: Buffer }) =>
      new Webhook(printSecret(changed.secret ?? secret)).verify(changed.body ?? body, {
        ...headers,
        ...changed.headers,
      });
    expect(verify({})).toEqual({ price: 1 });
    expect(() => verify({ body: '{"price":2}' })).toThrow();
    expect(() => verify({ headers: { 'webhook-id': 'other' } })).toThrow();
    expect(() => verify({ headers: { 'webhook-timestamp': String(Date.now() / 1_000 - 1) } })).toThrow();
    expect(() => verify({ secret: randomBytes(32) })).toThrow();
  });
});
