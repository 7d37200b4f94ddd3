/** A real API and a real worker with a collector for their traces and scrapes of their metrics. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePorts } from '../../../dev/stack/freePorts.ts';
import { type Deployment, eventually, openDeployment } from '../../acceptance/deployment.ts';
import { simulatedModels } from '../../acceptance/models.ts';
import { toneWav } from '../../acceptance/recordings.ts';
import { type ChainNode, startChainNode } from '../../stubs/chainNode.ts';
import { type CollectedSpan, type Collector, startCollector } from '../../stubs/collector.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';

export const CLOUD = 'elevenlabs-voice-changer';
export const FAILING = 'failing-voice';
export const POLLED = 'polled-voice';
export const SECRET_IN_URL = 'secret-in-the-url';

export interface WatchedWorld {
  farebox: Deployment;
  collector: Collector;
  cloud: ElevenLabsStub;
  /** URL of a recording, with a secret in its query. */
  sourceUrl: string;
  /** Spans of a trace, as soon as all of these names are among them. */
  trace(traceId: string, ...until: string[]): Promise<CollectedSpan[]>;
  scrape(): Promise<{ api: string; worker: string }>;
  close(): Promise<void>;
}

export async function openWatchedWorld(): Promise<WatchedWorld> {
  const [collector, cloud, files, chainNode] = await Promise.all([
    startCollector(),
    startElevenLabsStub(),
    serveRecording(),
    startChainNode(),
  ]);
  const [metricsPort = 0] = await freePorts(1);
  const fileServer = `127.0.0.1:${(files.address() as AddressInfo).port}`;
  const farebox = await openDeployment({
    configuration: { ...configurationOf(cloud, fileServer), rpc: rpcOf(chainNode) },
    variables: {
      CLOUD_KEY: cloud.apiKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      FAREBOX_METRICS_PORT: String(metricsPort),
    },
  });
  const read = async (url: string) => (await fetch(url)).text();
  return {
    ...{ farebox, collector, cloud },
    sourceUrl: `http://${fileServer}/speech.wav?token=${SECRET_IN_URL}`,
    trace: (traceId, ...until) =>
      eventually(async () => {
        const spans = collector.spans.filter((span) => span.traceId === traceId);
        return until.every((wanted) => spans.some(({ name }) => name === wanted)) ? spans : undefined;
      }),
    scrape: async () => ({
      api: await read(`${farebox.origin}/metrics`),
      worker: await read(`http://127.0.0.1:${metricsPort}/metrics`),
    }),
    async close() {
      await farebox.close();
      await Promise.all([collector.close(), cloud.close(), chainNode.close()]);
      files.close();
    },
  };
}

async function serveRecording(): Promise<Server> {
  const files = createServer((_request, response) => response.end(toneWav(2)));
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  return files;
}

/** The key is in the path, as many node services require. */
function rpcOf({ url }: ChainNode): object {
  const endpoints = [`${url}/v2/${SECRET_IN_URL}`];
  return { networks: { 'base-sepolia': { endpoints, allowPrivateNetwork: true } } };
}

function configurationOf(cloud: ElevenLabsStub, fileServer: string): object {
  const simulated = simulatedModels({
    [FAILING]: { outcome: 'failed' },
    [POLLED]: { latencyMs: 400 },
  });
  const elevenlabs = {
    kind: 'elevenlabs',
    baseUrl: cloud.baseUrl,
    apiKeyEnv: 'CLOUD_KEY',
    allowPrivateNetwork: true,
  };
  return {
    providers: { simulated: simulated.provider, elevenlabs },
    models: simulated.models,
    fetch: { allowPrivateHosts: [fileServer] },
    jobs: { pollFirstMs: 100, pollLongestMs: 200 },
  };
}
