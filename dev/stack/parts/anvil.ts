/** anvil, a local EVM chain in one process, whose state can be kept in a file. */
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
  /** Seconds between blocks. Default: one block per transaction, at once. */
  blockSeconds?: number;
  /** Mnemonic whose first ten accounts own all ether of the chain. Default: anvil's public mnemonic. */
  mnemonic?: string;
  /** File from which the chain continues. Written periodically and at the end. */
  stateFile?: string;
}

/** Maximum time that is lost in a crash of the machine. */
const STATE_INTERVAL_S = 5;

export function anvilProcess(options: AnvilOptions): PartProcess {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  return {
    name: 'chain',
    command: options.program.path,
    args: anvilArguments(options),
    // anvil creates a folder in HOME.
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
    // Mixed mining: transactions and evm_mine still get a block at once, between the timed blocks.
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
