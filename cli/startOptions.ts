/** The flags of `npm start -- …`. */
import { CommandError } from './commandError.ts';

export interface StartOptions {
  demo: boolean;
}

export const START_HELP = `npm start [-- flags]    The whole service on this machine, until Ctrl-C.

  --no-demo            no demonstration job on a new data folder
  --with-demo-chain    not in this release: a local chain with a test USDC comes with the wallet payments
  --help               this text

PORT, HOST, FAREBOX_DATA, FAREBOX_CONFIG and the variables that name a part (DATABASE_URL, REDIS_URL,
S3_ENDPOINT …, TEMPORAL_ADDRESS, FFMPEG_PATH, FFPROBE_PATH, ESPEAK_PATH, POCKETSPHINX_PATH) are read from the
environment, and OLLAMA_HOST: where an Ollama is looked for.
`;

/** Undefined when only the help is wanted. Throws CommandError for what it does not know. */
export function readStartOptions(args: readonly string[]): StartOptions | undefined {
  if (args.includes('--help')) return undefined;
  if (args.includes('--with-demo-chain')) {
    throw new CommandError(
      '--with-demo-chain is not available in this release: start without it for the service without wallets',
    );
  }
  const unknown = args.find((arg) => arg !== '--no-demo');
  if (unknown !== undefined) throw new CommandError(`unknown flag ${unknown}; --help lists what there is`);
  return { demo: !args.includes('--no-demo') };
}
