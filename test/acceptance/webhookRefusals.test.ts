/** Refused webhook URLs and the validity of signing secrets, with real processes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openReceiver, read } from './hookReceiver.ts';
import { type HookWorld, openHookWorld, outcomesOf, short } from './hookWorld.ts';
import { queueFile, queueJson } from './orders.ts';

let world: HookWorld;
let secret: string;

beforeAll(async () => {
  world = await openHookWorld();
  secret = await world.secretBy('GET', '/webhooks/secret');
});

afterAll(async () => {
  expect(await checkLedger(world.farebox.pool)).toEqual([]);
  await world.close();
});

describe('a webhook URL', () => {
  it.each([
    ['loopback', 'http://127.0.0.1:80/'],
    ['a private network', 'http://10.0.0.1/'],
    ['machines of the cloud', 'http://169.254.169.254/latest'],
    ['another notation', 'http://0x7f.1/'],
    ['an inner name', 'http://hooks.internal/'],
    ['another port', 'https://example.com:8443/'],
    ['a user name', 'https://user:word@example.com/'],
    ['another scheme', 'ftp://example.com/'],
    ['no URL', 'example.com/hooks'],
    ['too long', `https://example.com/${'a'.repeat(2_048)}`],
  ])('is refused by name before any charge: %s', async (_what, url) => {
    const { api } = world.farebox.account;
    const before = await world.farebox.transfers();
    const reply = await queueFile(api, { model: 'quick-voice', source: short, fields: { webhook_url: url } });
    expect([reply.status, reply.body.error]).toEqual([400, 'Invalid request parameters']);
    expect(JSON.stringify(reply.body.details)).toContain('webhook_url');
    expect(await world.farebox.transfers()).toBe(before);
    expect((await world.farebox.pool.query('select from job_webhooks where url = $1', [url])).rowCount).toBe(0);
  });

  it('is not called if it leads to an internal address only later', async () => {
    const inside = await openReceiver();
    const queueId = await world.order({ model: 'slow-voice', hook: '/ok/moved' });
    const { rows } = await world.farebox.pool.query('delete from job_webhooks where queue_id = $1 returning *', [
      queueId,
    ]);
    await world.farebox.pool.query(
      'insert into job_webhooks (queue_id, account_id, url, events) values ($1, $2, $3, $4)',
      [queueId, rows[0].account_id, inside.url('/ok/inside'), rows[0].events],
    );
    const delivery = await world.attempted(queueId, 1);
    expect([delivery.state, outcomesOf(delivery)]).toEqual(['pending', [[null, 'unreachable']]]);
    expect(inside.received).toEqual([]);
    inside.close();
  });

  it('needs known events, and events need a URL', async () => {
    const { api } = world.farebox.account;
    const wrong = [
      { webhook_events: ['job.stored'] },
      { webhook_url: world.receiver.url('/ok'), webhook_events: [] },
      { webhook_url: world.receiver.url('/ok'), webhook_events: ['job.started'] },
      { webhook_url: '' },
      { webhook_url: 7 },
    ];
    for (const fields of wrong) {
      const json = { model: 'quick-voice', audio_url: 'https://example.com/a.mp3', ...fields };
      const reply = await queueJson(api, json);
      expect([reply.status, JSON.stringify(reply.body.details).includes('webhook_')]).toEqual([400, true]);
    }
  });
});

describe('a refused order', () => {
  it('leaves no webhook URL behind', async () => {
    const { rows: before } = await world.farebox.pool.query('select count(*) from job_webhooks');
    const fields = { webhook_url: world.receiver.url('/ok/refused') };
    const reply = await queueFile(world.farebox.account.api, {
      ...{ model: 'quick-voice', fields },
      source: Buffer.from('no recording'),
    });
    expect(reply.status).toBe(400);
    expect((await world.farebox.pool.query('select count(*) from job_webhooks')).rows).toEqual(before);
  });
});

describe('the signing secret', () => {
  it('is shown to ADMIN keys only and belongs to the account', async () => {
    const { account, other } = world.farebox;
    for (const route of ['/webhooks/secret', '/webhooks/secret/rotate']) {
      const ask = route.endsWith('rotate') ? account.api.post : account.api.get;
      expect((await ask(route)).status).toBe(401);
    }
    const theirs = await other.api.get('/webhooks/secret', { key: other.adminKey });
    expect(theirs.body.secret).not.toBe(secret);
    expect(await world.secretBy('GET', '/webhooks/secret')).toBe(secret);
  });

  it('signs beside its successor for a day, and the change is an audit event', async () => {
    const old = secret;
    secret = await world.secretBy('POST', '/webhooks/secret/rotate');
    expect(secret).not.toBe(old);
    await world.order({ hook: '/ok/rotated' });
    const [message] = await world.arrivals('/ok/rotated', 1);
    if (!message) throw new Error('nothing came');
    expect(message.headers['webhook-signature']?.split(' ').length).toBe(2);
    expect(read(secret, message)).toEqual(read(old, message));
    const { body } = await world.farebox.account.api.get('/webhooks/secret', {
      key: world.farebox.account.adminKey,
    });
    const leftMs = Date.parse(String(body.previous_works_until)) - Date.now();
    expect(leftMs).toBeGreaterThan(23.9 * 3_600_000);
    expect(leftMs).toBeLessThanOrEqual(24 * 3_600_000);
    const trail = await world.farebox.account.api.get('/audit', { key: world.farebox.account.adminKey });
    const [latest] = trail.body.data as { action: string; changes: object }[];
    expect(latest).toMatchObject({ action: 'webhook_secret.rotate' });
    expect(JSON.stringify(trail.body)).not.toContain(secret.slice(6));
    await world.farebox.pool.query(
      `update webhook_secrets set previous_until = clock_timestamp() - interval '1 second'
        where previous is not null`,
    );
    await world.order({ hook: '/ok/later' });
    const [later] = await world.arrivals('/ok/later', 1);
    if (!later) throw new Error('nothing came');
    expect(later.headers['webhook-signature']?.split(' ').length).toBe(1);
    expect(() => read(old, later)).toThrow();
    expect(read(secret, later).type).toBe('job.stored');
  });
});
