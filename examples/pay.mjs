/**
 * A wallet pays, with the x402 libraries as they are: beside a running `npm start -- --with-demo-chain`
 *
 *   node examples/pay.mjs [--model ID] [--calls N]
 *
 * tops up 5 USD, signs in with the same wallet, buys chat (or speech, where no chat model is to be had) three times or N
 * times, and shows what is left. Where the service answers 402 in between, it tops up again and goes on.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { createSIWxPayload, encodeSIWxHeader, wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const FIVE_DOLLARS = '5000000';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string' },
    calls: { type: 'string', default: '3' },
  },
});

const dev = readDevFile();
const wallet = privateKeyToAccount(dev.chain.wallet.privateKey);

// Pays at most five dollars at a time, in the test dollar and nothing else.
const spending = [{ network: dev.chain.network, asset: dev.chain.asset, maxAmountPerPayment: FIVE_DOLLARS }];
const client = new x402Client().setSpendControls({ allowedAssets: spending });
registerExactEvmScheme(client, { signer: wallet });
const payingFetch = wrapFetchWithPayment(fetch, client);
// Signs each request; pays nothing.
const signedFetch = wrapFetchWithSIWx(fetch, wallet);

await topUp();
const product = await chooseProduct();
for (let call = 1; call <= Number(flags.calls); call += 1) {
  if ((await buy(product)) === 402) await topUp();
}
await showBalance();

async function topUp() {
  const answer = await payingFetch(`${dev.baseUrl}/x402/top-up`, { method: 'POST' });
  const body = await answer.json();
  if (answer.status !== 200) throw new Error(`the top-up answered ${answer.status}: ${JSON.stringify(body)}`);
  const { transaction } = decodePaymentResponseHeader(answer.headers.get('payment-response'));
  const { amountCredited, newBalance } = body.data;
  const now = newBalance === undefined ? '' : `, now ${newBalance}`;
  console.log(`topped up      ${amountCredited} USD${now} (transaction ${transaction})`);
}

/** Returns the status: 200, or 402 once there is too little left. */
async function buy({ route, body }) {
  const answer = await signedFetch(`${dev.baseUrl}${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200 && answer.status !== 402) {
    throw new Error(`${route} answered ${answer.status}: ${bytes.toString().slice(0, 500)}`);
  }
  const what = answer.status === 402 ? '402, too little left' : describe(answer, bytes);
  console.log(`${body.model.padEnd(12)} ${what}; left: ${answer.headers.get('x-balance-remaining') ?? '?'} USD`);
  return answer.status;
}

function describe(answer, bytes) {
  if (!answer.headers.get('content-type')?.includes('json')) return `${bytes.length} bytes of sound`;
  const [choice] = JSON.parse(bytes.toString()).choices;
  return JSON.stringify(choice.message.content.slice(0, 60));
}

async function showBalance() {
  const balance = await own('balance', '');
  console.log(`balance        ${balance.balanceUsd} USD of ${balance.walletAddress}`);
  const { transactions } = await own('transactions', '?limit=5');
  for (const { createdAt, type, amount, modelId } of transactions) {
    console.log(`  ${createdAt}  ${type.padEnd(8)} ${amount} ${modelId ?? ''}`.trimEnd());
  }
}

/** Nothing is for sale there, so wrapFetchWithSIWx finds no network to sign in on: the challenge is answered by hand. */
async function own(what, query) {
  const url = `${dev.baseUrl}/x402/${what}/${wallet.address}${query}`;
  const { info, supportedChains } = (await (await fetch(url)).json()).extensions['sign-in-with-x'];
  const [chain] = supportedChains;
  const payload = await createSIWxPayload({ ...info, ...chain }, wallet, url);
  const answer = await fetch(url, { headers: { 'SIGN-IN-WITH-X': encodeSIWxHeader(payload) } });
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()).data;
}

/** A chat model that costs something, where there is one; the catalogue is for keys. */
async function chooseProduct() {
  const chat = (model) => ({
    route: '/chat/completions',
    body: { model, messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 32 },
  });
  if (flags.model !== undefined) return chat(flags.model);
  const headers = { authorization: `Bearer ${dev.keys.inference}` };
  const { data } = await (await fetch(`${dev.baseUrl}/models?type=text`, { headers })).json();
  const model = data.find(({ model_spec: spec }) => !spec.offline && spec.pricing?.output?.usd > 0);
  if (model !== undefined) return chat(model.id);
  const input = 'A wallet paid for this sentence. '.repeat(100);
  return { route: '/audio/speech', body: { model: 'local-speech-sync', input, response_format: 'mp3' } };
}

function readDevFile() {
  const file = path.join(process.env.FAREBOX_DATA ?? '.farebox', 'dev.json');
  const content = JSON.parse(readFileSync(file, 'utf8'));
  if (content.chain === undefined) throw new Error(`${file} knows no chain: npm start -- --with-demo-chain`);
  return content;
}
