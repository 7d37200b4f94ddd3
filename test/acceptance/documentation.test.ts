/**
 * Every documented example works unchanged. An independent validator and a handwritten table of fields check the
 * answers.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  type ApiContract,
  type DescribedOperation,
  openContract,
  operationsOf,
  readDescription,
  type SeenAnswer,
} from '../harness/apiContract.ts';
import { ROOT } from '../harness/spawn.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { faultsOfFields, SPECIFIED_FIELDS } from './specifiedFields.ts';

const execute = promisify(execFile);
const description = readDescription();
const operations = operationsOf(description);

let farebox: Deployment;
let contract: ApiContract;
let folder: string;
const seen = new Map<string, Promise<SeenAnswer>>();

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'farebox examples '));
  contract = openContract(description);
  farebox = await openDeployment({ configuration: {} });
});

afterAll(async () => {
  await farebox.close();
  rmSync(folder, { recursive: true });
});

/** Runs an example like a reader and returns the answer of its last command. */
async function run({ operation }: DescribedOperation): Promise<SeenAnswer> {
  const [{ source = '' } = {}] = operation['x-codeSamples'];
  const last = source.lastIndexOf('curl -sS');
  const told = path.join(folder, `${operation.operationId}.body`);
  // Replaces the output file of an example by our own.
  const command = source.slice(last).replace(/ \\\n {2}-o \S+$/, '');
  const script = `${source.slice(0, last)}${command} -o '${told}' -w '%{http_code} %{content_type}'; echo; cat '${told}'`;
  const { stdout } = await execute('/bin/sh', ['-c', script], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      FAREBOX_URL: farebox.baseUrl,
      FAREBOX_API_KEY: farebox.account.adminKey,
    },
    timeout: 90_000,
    maxBuffer: 10 * 1024 * 1024,
  });
  const [head = '', ...body] = stdout.split('\n');
  const [status = '', ...contentType] = head.split(' ');
  return { status: Number(status), contentType: contentType.join(' '), body: body.join('\n') };
}

function answerOf(operation: DescribedOperation): Promise<SeenAnswer> {
  const { operationId } = operation.operation;
  const answer = seen.get(operationId) ?? run(operation);
  seen.set(operationId, answer);
  return answer;
}

/** Statuses of examples that cannot succeed here: by their nature, without a setting, or without access to the web. */
const ELSEWHERE: Record<string, number[]> = {
  retiredUsage: [410],
  retiredVideoTranscriptions: [410],
  searchWeb: [400],
  scrapePage: [200, 400],
  cloneVoice: [503],
  callRpc: [503],
  // A shell cannot sign for a wallet.
  generateWeb3Key: [400],
  downloadVideo: [404],
  deleteDownload: [404],
  topUp: [503],
  showWalletBalance: [503],
  listWalletTransactions: [503],
};

describe('examples', () => {
  test.each(operations.map((each) => [each.operation.operationId, each] as const))(
    'work unchanged and are answered as described: %s',
    async (operationId, operation) => {
      let answer = await answerOf(operation);
      // A job can end before its cancellation arrives, so this retries like a reader.
      for (let again = 0; operationId === 'cancelJob' && answer.status === 409 && again < 5; again += 1) {
        seen.delete(operationId);
        answer = await answerOf(operation);
      }
      const expected = ELSEWHERE[operationId] ?? [200];
      expect(expected, answer.body.slice(0, 500)).toContain(answer.status);
      expect(contract.faultOf(operation, answer)).toBeUndefined();
    },
  );
});

describe('the published fields', () => {
  test.each(Object.keys(SPECIFIED_FIELDS))('are in the answer of %s', async (operationId) => {
    const operation = operations.find((each) => each.operation.operationId === operationId);
    if (!operation) throw new Error(`no operation ${operationId}`);
    const { body } = await answerOf(operation);
    expect(faultsOfFields(SPECIFIED_FIELDS[operationId] ?? {}, JSON.parse(body))).toEqual([]);
  });

  it('cover every route with a JSON answer', () => {
    const named = new Set(Object.keys(SPECIFIED_FIELDS));
    const unnamed = operations.map(({ operation }) => operation.operationId).filter((id) => !named.has(id));
    expect(unnamed).toEqual([
      ...['scrapePage', 'searchWeb', 'callRpc'],
      ...['editImages', 'editImage', 'removeBackground', 'upscaleImage'],
      // Nobody pays here. Tests with payments check these answers against their schemas.
      ...['topUp', 'showWalletBalance', 'listWalletTransactions'],
      ...['retrieveVoiceChange', 'retrieveAudio', 'speak', 'cloneVoice', 'retrieveVideo'],
      ...['downloadVideo', 'deleteDownload', 'watchJob', 'generateWeb3Key'],
    ]);
  });
});
