import { CommandError } from './commandError.ts';

export interface StartOptions {
  demo: boolean;
  /** A local chain, a facilitator and a wallet that can pay. */
  demoChain: boolean;
  /** Servers only, without API and worker, to restore a dump. */
  partsOnly: boolean;
}

const NO_DEMO = '--no-demo';
const WITH_DEMO_CHAIN = '--with-demo-chain';
const PARTS_ONLY = '--parts-only';
const FLAGS: readonly string[] = [NO_DEMO, WITH_DEMO_CHAIN, PARTS_ONLY];

export const START_HELP = `npm start [-- flags]    The whole service on this machine, until Ctrl-C.

  ${NO_DEMO}            no demonstration job on a new data folder
  ${WITH_DEMO_CHAIN}    also a local chain in the place of Base Sepolia (chain id 84532) with a test USDC, a
                       payment facilitator, and a wallet with 1000 test dollars: node examples/pay.mjs pays
                       with it. The chain is kept in the data folder; it is anvil, from ANVIL_PATH, PATH, or
                       its npm package (Linux x64). Its keys and its money are worth nothing elsewhere.
  ${PARTS_ONLY}         the servers alone, with an empty database on a new data folder: to restore a dump
  --help               this text

PORT, HOST, FAREBOX_DATA, FAREBOX_CONFIG and the variables that name a part (DATABASE_URL, REDIS_URL,
S3_ENDPOINT …, TEMPORAL_ADDRESS, FFMPEG_PATH, FFPROBE_PATH, ESPEAK_PATH, POCKETSPHINX_PATH) are read from the
environment, and OLLAMA_HOST: where an Ollama is looked for.
`;

/** Undefined for `--help`. Throws CommandError for an unknown flag. */
export function readStartOptions(args: readonly string[]): StartOptions | undefined {
  if (args.includes('--help')) return undefined;
  const unknown = args.find((arg) => !FLAGS.includes(arg));
  if (unknown !== undefined) throw new CommandError(`unknown flag ${unknown}; --help lists what there is`);
  return {
    demo: !args.includes(NO_DEMO),
    demoChain: args.includes(WITH_DEMO_CHAIN),
    partsOnly: args.includes(PARTS_ONLY),
  };
}
