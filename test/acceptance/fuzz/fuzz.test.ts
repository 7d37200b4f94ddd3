/**
 * Fuzzes the API with valid and corrupted requests from its own description. No request causes a 5xx or an undocumented
 * answer, and the ledger stays sound. `FAREBOX_TEST_SEED` repeats a run.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { processEnvironment } from '../../../infra/config/environment.ts';
import { openContract, operationsOf, readDescription } from '../../harness/apiContract.ts';
import { longRun } from '../../infra/postgres/longRun.ts';
import { ledgerCheck } from '../../kill/operator.ts';
import { type Account, type Deployment, openDeployment } from '../deployment.ts';
import { type Drawn, type Known, requestsOf, type Sender } from './requests.ts';

const REQUESTS = longRun(2_000, 20_000);
const AT_ONCE = 8;
const REQUEST_LIMIT_MS = 90_000;
const seed = Number(processEnvironment().FAREBOX_TEST_SEED ?? Date.now() % 1_000_000);

/** Payments are configured, but their chain is unreachable. */
const OUT_OF_REACH = {
  ...{ network: 'eip155:8453', asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
  ...{ payTo: '0x1111111111111111111111111111111111111111' },
  ...{ rpcUrl: 'http://127.0.0.1:9', facilitatorUrl: 'http://127.0.0.1:9' },
};

let farebox: Deployment;

beforeAll(async () => {
  farebox = await openDeployment({ configuration: { x402: { networks: [OUT_OF_REACH] } } });
});

afterAll(() => farebox.close());

const description = readDescription();
const contract = openContract(description);

/** Existing ids of this account and another, without the keys that send the requests. */
async function knownOf(): Promise<Known> {
  const made = await Promise.all([farebox.account, farebox.account, farebox.other].map((owner) => makeKey(owner)));
  return {
    id: made,
    model: ['local-voice-changer', 'local-voice-changer', 'no-such-model'],
    type: ['music', 'text', 'all', 'code'],
    slug: ['alan-watts', 'nobody'],
    queue_id: ['00000000-0000-4000-8000-000000000000'],
  };
}

async function makeKey({ adminKey }: Account): Promise<string> {
  const answer = await fetch(`${farebox.baseUrl}/api_keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ apiKeyType: 'INFERENCE', description: 'to be fuzzed' }),
  });
  return String(((await answer.json()) as { data: { id: string } }).data.id);
}

function credentialsOf(sender: Sender, { adminKey, inferenceKey }: Account): [string, string][] {
  switch (sender) {
    case 'admin':
      return [['Authorization', `Bearer ${adminKey}`]];
    case 'inference':
      return [['Authorization', `Bearer ${inferenceKey}`]];
    case 'stranger':
      return [['Authorization', 'Bearer nobody-knows-this-key']];
    case 'none':
      return [];
    case 'two':
      return [
        ['Authorization', `Bearer ${adminKey}`],
        ['SIGN-IN-WITH-X', 'e30='],
      ];
  }
}

interface Tally {
  statuses: Map<number, number>;
  faults: string[];
}

/** Routes with a default model (IMAGE-1, AUDIO-8) whose provider is missing here. */
const WITH_USUAL_MODEL =
  /^\/(audio\/(transcriptions|speech|voices)|image\/(multi-)?edit|images\/(generations|edits))\b/;

function isOfflineHere(url: string, text: string): boolean {
  if (url.startsWith('/crypto/rpc/')) return /has no rpc\.networks\./.test(text);
  return WITH_USUAL_MODEL.test(url) && /is offline: (?:its|no) provider/.test(text);
}

async function send({ request, sender }: Drawn, owner: Account, tally: Tally): Promise<void> {
  const { operation, url, method, headers, body } = request;
  const name = `${method} ${url.slice(0, 200)} as ${sender}`;
  try {
    const answer = await fetch(`${farebox.baseUrl}${url}`, {
      method,
      headers: [...credentialsOf(sender, owner), ...headers],
      ...(body && { body: new Uint8Array(body) }),
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
    const { status } = answer;
    const text = await answer.text();
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    const fault =
      status >= 500 && !isOfflineHere(url, text)
        ? `status ${status}: ${text.slice(0, 200)}`
        : contract.faultOf(operation, {
            status,
            contentType: answer.headers.get('content-type'),
            body: text,
          });
    if (fault) tally.faults.push(`${name} ${body?.toString('utf8', 0, 300) ?? ''}: ${fault}`);
  } catch (error) {
    tally.faults.push(
      `${name} ${body?.toString('utf8', 0, 300) ?? ''}: ${String(error)} ${String((error as Error).cause ?? '')}`,
    );
  }
}

it(
  `answers ${REQUESTS} requests from the description without a 5xx or an undocumented answer (seed ${seed})`,
  async () => {
    const drawn = fc.sample(requestsOf(operationsOf(description), await knownOf()), {
      numRuns: REQUESTS,
      seed,
    });
    const tally: Tally = { statuses: new Map(), faults: [] };
    let next = 0;
    const sender = async () => {
      for (let index = next++; index < drawn.length; index = next++) {
        const one = drawn[index];
        if (one) await send(one, index % 2 === 0 ? farebox.account : farebox.other, tally);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    const counts = Object.fromEntries([...tally.statuses].sort(([left], [right]) => left - right));
    process.stderr.write(`fuzz: FAREBOX_TEST_SEED=${seed} ${JSON.stringify(counts)}\n`);
    expect(tally.faults.slice(0, 20)).toEqual([]);
    expect(tally.statuses.get(200)).toBeGreaterThan(REQUESTS / 20);
    expect(tally.statuses.get(429) ?? 0).toBeLessThan(REQUESTS / 100);
    expect((await fetch(`${farebox.origin}/readyz`)).status).toBe(200);
    const { DATABASE_URL = '' } = farebox.environment;
    expect(await ledgerCheck(DATABASE_URL)).toEqual({ code: 0, text: 'ledger: every invariant holds\n' });
  },
  longRun(240_000, 1_800_000),
);
