/**
 * Compiles the contracts of the demo chain and of the tests. The output is committed beside the sources, so that
 * running needs no compiler. A test checks that it is current. Run directly, it writes the files: node
 * dev/launch/contracts.mjs
 */
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import solc from 'solc';
import { ROOT } from './root.mjs';

const FOLDERS = ['dev/chain/contracts', 'test/chains/contracts'];
const SETTINGS = {
  evmVersion: 'shanghai',
  optimizer: { enabled: true, runs: 200 },
  // Without this the bytecode would end with a hash of the comments.
  metadata: { bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};

/** Expected files: path from the repository's root -> text. Throws with the compiler's messages. */
export function compileContracts() {
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder))
      .filter((name) => name.endsWith('.sol'))
      .map((name) => ({ folder, name })),
  );
  const contents = sources.map(({ folder, name }) => [
    name,
    { content: readFileSync(path.join(ROOT, folder, name), 'utf8') },
  ]);
  const input = { language: 'Solidity', sources: Object.fromEntries(contents), settings: SETTINGS };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const complaints = (output.errors ?? []).map((error) => error.formattedMessage);
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  const files = sources.flatMap(({ folder, name }) =>
    Object.entries(output.contracts[name]).map(([contract, { abi, evm }]) => {
      const text = `${JSON.stringify({ abi, bytecode: `0x${evm.bytecode.object}` })}\n`;
      return [`${folder}/${contract}.json`, text];
    }),
  );
  return new Map(files);
}

if (process.argv[1] && fileURLToPath(import.meta.url) === realpathSync(process.argv[1])) {
  for (const [file, text] of compileContracts()) writeFileSync(path.join(ROOT, file), text);
}
