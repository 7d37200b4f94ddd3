/** anvil, a local EVM chain that lives in one process; its state can be kept in a file. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { callOwn } from '../../../infra/http/operatorFetch.ts';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';

export interface AnvilOptions {
  program: FoundProgram;
  folder: string;
  port: number;
  chainId: number;
  /** Seconds between blocks; without it each transaction gets its block at once. */
  blockSeconds?: number;
  /** A mnemonic whose first ten accounts have all the ether of the chain; anvil's public one unless told. */
  mnemonic?: string;
  /** The chain goes on from this file and is written to it now and then, and at the end. */
  stateFile?: string;
}

/** A crash of the machine costs the chain at most this many seconds. */
const STATE_INTERVAL_S = 5;

export function anvilProcess(options: AnvilOptions): PartProcess {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  return {
    name: 'chain',
    command: options.program.path,
    args: anvilArguments(options),
    // It keeps a folder of its own in HOME otherwise.
    env: { ...partEnvironment(), HOME: options.folder },
    cwd: options.folder,
    check: () => mustBeChain(`http://127.0.0.1:${options.port}`, options.chainId),
    readyTimeoutMs: 30_000,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 10_000,
  };
}

export function anvilArguments(options: Omit<AnvilOptions, 'program' | 'folder'>): string[] {
  const { blockSeconds, mnemonic, stateFile } = options;
  return [
    ...['--host', '127.0.0.1', '--port', String(options.port), '--chain-id', String(options.chainId)],
    // With it, a block that waits for its time still takes what is sent to it by hand (evm_mine).
    ...(blockSeconds === undefined ? [] : ['--block-time', String(blockSeconds), '--mixed-mining']),
    ...(mnemonic === undefined ? [] : ['--mnemonic', mnemonic]),
    ...(stateFile === undefined
      ? []
      : ['--state', path.resolve(stateFile), '--state-interval', String(STATE_INTERVAL_S)]),
  ];
}

async function mustBeChain(url: string, chainId: number): Promise<void> {
  const answer = await callOwn(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    timeoutMs: 5_000,
  });
  const words = await answer.text();
  const { result } = JSON.parse(words) as { result?: string };
  if (Number(result) !== chainId) throw new Error(`${url} is not chain ${chainId}: ${words.slice(0, 200)}`);
}
