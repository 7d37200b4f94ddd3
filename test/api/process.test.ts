import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { decoderIsolation } from '../../engines/child/isolation.ts';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { createWorld, spawnApi, spawnWorker } from '../harness/services.ts';

describe('a real API process', () => {
  it('cuts no answer when it is stopped under load, and exits with 0', async () => {
    const { environment } = await createWorld();
    const sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
    const { id: accountId } = await createAccount(sql, { name: 'load' });
    const { secret } = await createKey(sql, { accountId, keyType: 'ADMIN' });
    await sql.end();
    const api = await spawnApi({ environment });
    const outcomes = { whole: 0, refused: 0, cut: [] as string[] };
    const clients = Array.from({ length: 16 }, () => client(api.baseUrl, secret, outcomes));
    await expect.poll(() => outcomes.whole).toBeGreaterThan(20);
    api.kill('SIGTERM');
    expect(await api.exit).toEqual({ code: 0, signal: null });
    await Promise.all(clients);
    expect(outcomes.cut).toEqual([]);
    expect(outcomes.whole).toBeGreaterThan(20);
    expect(api.logs()).toContain('api stopped');
    expect(api.logs()).not.toContain('"level":"fatal"');
  });

  it('reports a faulty configuration in one log line, and exits with 1', async () => {
    const { environment } = await createWorld();
    const { DATABASE_URL: _none, ...incomplete } = environment;
    const api = await spawnApi({ environment: incomplete, startOnly: true });
    expect((await api.exit).code).toBe(1);
    expect(api.logs()).toContain('DATABASE_URL');
    expect(api.logs().trim().split('\n')).toHaveLength(1);
  });

  it('starts without its parts and is not ready until they come', async () => {
    const { environment } = await createWorld();
    const api = await spawnApi({
      environment: { ...environment, REDIS_URL: 'redis://127.0.0.1:1' },
      startOnly: true,
    });
    const [, port] = /"port":(\d+)/.exec(await untilLogged(api.logs)) ?? [];
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'not ready', parts: { postgres: 'ok', redis: 'missing', s3: 'ok', temporal: 'ok' } },
    ]);
    await api.stop();
  });

  it('logs at its start what its decoders can reach, like a worker', async () => {
    const { environment } = await createWorld();
    for (const each of [await spawnApi({ environment }), await spawnWorker({ environment })]) {
      expect(each.logs()).toContain(`decoders ${decoderIsolation().description}`);
      await each.stop();
    }
  });
});

async function untilLogged(logs: () => string): Promise<string> {
  await expect.poll(logs).toContain('api ready');
  return logs();
}

/** Sends requests on a kept connection until the server accepts no more connections. */
async function client(
  baseUrl: string,
  secret: string,
  outcomes: { whole: number; refused: number; cut: string[] },
): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    try {
      await ask(baseUrl, secret, agent);
      outcomes.whole += 1;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      agent.destroy();
      if (code === 'ECONNREFUSED') outcomes.refused += 1;
      else outcomes.cut.push(String(error));
      return;
    }
  }
}

function ask(baseUrl: string, secret: string, agent: http.Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}` };
    const request = http.get(`${baseUrl}/billing/balance`, { agent, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200 && body.endsWith('}')) resolve();
        else reject(new Error(`${response.statusCode} ${body}`));
      });
    });
    request.on('error', reject);
  });
}
