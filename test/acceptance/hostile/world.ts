/** Deployment with counting upstreams, sites and chain, and with callers without funds. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { createKey } from '../../../infra/postgres/keys.ts';
import { type EvmChain, startEvmChain } from '../../chains/evmChain.ts';
import { services } from '../../harness/services.ts';
import { headerOf, paidConfig } from '../../payments/paidWorld.ts';
import { FEE_KEY, signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { type AnthropicStub, startAnthropicStub } from '../../stubs/anthropic.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';
import { type EngineStub, startSearxngStub } from '../../stubs/searchEngines.ts';
import { type Deployment, openDeployment } from '../deployment.ts';
import { simulatedModels } from '../models.ts';
import { queueFile, queueIdOf, untilState } from '../orders.ts';
import { toneWav } from '../recordings.ts';
import { probeVariables } from '../stallReports.ts';
import type { Watched } from './checkRow.ts';
import type { HostileTarget } from './row.ts';
import { type HostileSite, openHostileSite, repeatedNames } from './site.ts';

export interface HostileWorld extends HostileTarget, Watched {
  adminKey: string;
  /** Sites like `site` with other sizes of robots.txt. */
  sites: Record<'small' | 'middle' | 'large', string>;
  chat: OpenAiStub;
  claude: AnthropicStub;
  chain: EvmChain;
  /** Returns an ADMIN key of a new account without funds. */
  newPoorKey(): Promise<string>;
  /** Child key with a limit of 1 USD, of the funded account. */
  childKey: string;
  /** Job of the same account that the child key did not order. */
  queueId: string;
  close(): Promise<void>;
}

const usd = (amount: number) => ({ usd: amount, diem: amount });
const ORDERED_WITHIN_MS = 60_000;
const CAPABILITIES = {
  ...{ supportsVision: true, supportsAudioInput: true, supportsVideoInput: true },
  ...{ supportsReasoning: true, supportsWebSearch: true, supportsFunctionCalling: true },
};

function textModel(id: string, more: object, pricing: object = { input: usd(1.25), output: usd(10) }) {
  const spec = { name: id, availableContextTokens: 1_000_000, capabilities: CAPABILITIES, pricing };
  return { id, type: 'text', privacy: 'private', upstreamModel: 'gpt-stub', ...more, spec };
}

export async function openHostileWorld(): Promise<HostileWorld> {
  const [chat, claude, engine, chain] = await Promise.all([
    startOpenAiStub(),
    startAnthropicStub(),
    startSearxngStub(),
    startEvmChain(),
  ]);
  chat.apiKey = undefined;
  const opened = {
    small: await openHostileSite(repeatedNames(4_000)),
    middle: await openHostileSite(repeatedNames(6_000)),
    large: await openHostileSite(),
  };
  const upstreams = { chat, claude, engine, chain, sites: Object.values(opened) };
  const stallFile = path.join(services().folder, `${randomUUID()}.stall.json`);
  const deployment = await openDeployment({
    configuration: configurationOf(upstreams),
    variables: { ...probeVariables(stallFile), CLAUDE_KEY: claude.apiKey, FEE_KEY },
  });
  const urls = Object.entries(opened).map(([name, { host }]) => [name, `http://${host}`]);
  const { account, origin } = deployment;
  return {
    ...{ deployment, stallFile, origin, chat, claude, chain },
    ...{ key: account.inferenceKey, adminKey: account.adminKey },
    ...{ site: `http://${opened.large.host}`, sites: Object.fromEntries(urls) },
    ...(await openFamily(deployment)),
    takeSeen: () => takeSeen(upstreams),
    newPoorKey: () => newPoorKey(deployment),
    async close() {
      await deployment.close();
      for (const site of upstreams.sites) site.close();
      await Promise.all([chat.close(), claude.close(), engine.close(), chain.stop()]);
    },
  };
}

interface Upstreams {
  chat: OpenAiStub;
  claude: AnthropicStub;
  engine: EngineStub;
  chain: EvmChain;
  sites: HostileSite[];
}

function configurationOf({ chat, claude, engine, chain, sites }: Upstreams): object {
  const openai = { kind: 'openai', baseUrl: chat.baseUrl, allowPrivateNetwork: true };
  const sonnet = { provider: 'claude', upstreamModel: 'claude-sonnet-4-5' };
  const { x402 } = paidConfig(chain);
  const simulated = simulatedModels({ 'quick-voice': {} });
  return {
    x402,
    fetch: { allowPrivateHosts: sites.map(({ host }) => host) },
    search: { kind: 'searxng', baseUrl: engine.baseUrl, allowPrivateNetwork: true },
    providers: {
      simulated: simulated.provider,
      chat: openai,
      beside: { ...openai, reasoningBeside: true },
      claude: {
        ...{ kind: 'anthropic', baseUrl: claude.baseUrl, apiKeyEnv: 'CLAUDE_KEY', allowPrivateNetwork: true },
      },
    },
    models: [
      ...simulated.models,
      textModel('seeing', { provider: 'chat' }),
      textModel('beside', { provider: 'beside' }),
      textModel('claude', sonnet, { input: usd(3), output: usd(15), cache_input: usd(0.3) }),
    ],
  };
}

function takeSeen({ chat, claude, engine, sites }: Upstreams): string[] {
  return [
    ...chat.received.splice(0).map(() => 'chat'),
    ...claude.received.splice(0).map(() => 'claude'),
    ...engine.requests.splice(0).map(() => 'search'),
    ...sites.flatMap((site) => site.takeSeen()),
  ];
}

async function newPoorKey({ pool }: Deployment): Promise<string> {
  const accountId = randomUUID();
  await createAccount(pool, { id: accountId, name: 'poor', diemDailyAllocation: 0n });
  return (await createKey(pool, { accountId, keyType: 'ADMIN' })).secret;
}

async function openFamily({ pool, account }: Deployment) {
  const { id: accountId, api } = account;
  const parent = await createKey(pool, { accountId, keyType: 'INFERENCE' });
  const terms = { keyType: 'INFERENCE', parentId: parent.record.id, limits: { usd: 10n ** 9n } } as const;
  const child = await createKey(pool, { accountId, ...terms });
  const queueId = queueIdOf(await queueFile(api, { model: 'quick-voice', source: toneWav(1) }));
  await untilState(api, queueId, 'stored', ORDERED_WITHIN_MS);
  return { childKey: child.secret, queueId };
}

/** Header of a payment that is on its chain and credited. */
export async function creditPayment({ origin, chain }: HostileWorld): Promise<string> {
  const header = headerOf(chain, await signedOn(chain));
  const paid = await presentPayment(origin, header);
  if (paid.status !== 200) throw new Error(`${paid.status} ${paid.body}`);
  return header;
}

export async function presentPayment(origin: string, header: string) {
  const headers = { 'PAYMENT-SIGNATURE': header };
  const response = await fetch(`${origin}/api/v1/x402/top-up`, { method: 'POST', headers });
  return { status: response.status, body: await response.text() };
}
