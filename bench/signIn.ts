/**
 * CPU time of one sign-in, from the header's text to the verified signature, without writing its nonce. Compares
 * secp256k1 in WebAssembly, which the service uses, with JavaScript, and Ed25519 in Node. Every sign-in is new, so that
 * no cache helps.
 */
import { getAddress, recoverMessageAddress, toHex } from 'viem';
import { checkEvm, checkSolana } from '../api/auth/signIn/checkSignature.ts';
import { loadRecoverSigner } from '../api/auth/signIn/recoverSigner.ts';
import { createSmartWallets } from '../api/auth/signIn/smartWallets.ts';
import { readPayload } from '../domain/signIn/payload.ts';
import { readSignIn, signedTexts, type UnverifiedSignIn } from '../domain/signIn/rules.ts';
import { createLogger } from '../infra/log.ts';
import {
  BASE,
  DOMAIN,
  encode,
  FORMS,
  type Form,
  newEvmWallet,
  newSolanaWallet,
  SOLANA,
  signed,
} from '../test/harness/signIns.ts';
import { percentile, round } from './statistics.ts';

const BATCHES = 40;
const BATCH = 25;
const WALLETS = 50;
const BARS_MS = { evm: 0.4, Solana: 0.2 } as const;

interface Case {
  name: string;
  form: Form;
  check(read: UnverifiedSignIn): Promise<void> | void;
}

export async function benchmarkSignIn(): Promise<{ ok: boolean }> {
  const log = createLogger({ level: 'silent', name: 'bench' });
  const wallets = createSmartWallets({
    ethCall: undefined,
    networks: new Set(),
    log,
    guard: (_from, _wallet, work) => work(),
  });
  const recover = await loadRecoverSigner();
  const chosen = (read: UnverifiedSignIn) => checkEvm(read, { recover, wallets, from: '127.0.0.1' });
  const cases = FORMS.map((form): Case => ({ name: form, form, check: form.startsWith('evm') ? chosen : checkSolana }));
  const figures = [];
  for (const one of cases) figures.push({ ...one, ms: await measureCpuMs(one) });
  const plain = await measureCpuMs({ name: '', form: 'evm text', check: checkInJavaScript });
  console.log('sign-in: CPU of one verification, parsing and hashing included, median of batches');
  console.table([
    ...figures.map(({ name, form, ms }) => ({ sign_in: name, ms: thousandths(ms), 'bar ms': barOf(form) })),
    { sign_in: 'evm text, secp256k1 in JavaScript (not used)', ms: thousandths(plain), 'bar ms': undefined },
  ]);
  console.log(`  JavaScript ÷ WebAssembly: ${round(plain / (figures[0]?.ms ?? Number.NaN))}`);
  return { ok: figures.every(({ form, ms }) => ms <= barOf(form)) };
}

function barOf(form: Form): number {
  return form.startsWith('evm') ? BARS_MS.evm : BARS_MS.Solana;
}

/** Milliseconds of CPU of the whole process, so that work on other threads counts too. */
async function measureCpuMs({ form, check }: Case): Promise<number> {
  const nowMs = Date.now();
  const rules = { nowMs, domains: [DOMAIN], networks: [BASE, SOLANA] };
  const make = form.startsWith('evm') ? newEvmWallet : newSolanaWallet;
  const makers = Array.from({ length: WALLETS }, () => make());
  const headers: string[] = [];
  for (let index = 0; index < (BATCHES + 1) * BATCH; index += 1) {
    const wallet = makers[index % WALLETS] ?? newEvmWallet();
    headers.push(encode(await signed(form, wallet, { nowMs })));
  }
  const costs: number[] = [];
  for (let batch = 0; batch <= BATCHES; batch += 1) {
    const part = headers.slice(batch * BATCH, (batch + 1) * BATCH);
    const before = process.cpuUsage();
    for (const header of part) await check(readSignIn(readPayload(header), rules));
    const { user, system } = process.cpuUsage(before);
    // The first batch is the warm-up.
    if (batch > 0) costs.push((user + system) / 1_000 / BATCH);
  }
  return percentile(costs, 0.5);
}

/** Check of the service without a WebAssembly package. */
async function checkInJavaScript(read: UnverifiedSignIn): Promise<void> {
  const message = signedTexts(read, getAddress)[0] ?? '';
  const found = await recoverMessageAddress({ message, signature: toHex(fromHex(read.signature)) });
  if (found.toLowerCase() !== read.wallet.address) throw new Error('not signed by its wallet');
}

function fromHex(signature: string): Buffer {
  return Buffer.from(signature.slice(2), 'hex');
}

function thousandths(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
