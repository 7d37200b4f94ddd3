/**
 * Keys for wallets (ACCOUNT-7): a wallet signs a text of this service and gets a key of its account, with the terms
 * that any key can have: a cap, an expiry, models. An ADMIN key can create more keys and their children.
 */
import { toWallet } from '../../domain/wallets.ts';
import { makeKey } from '../../infra/postgres/keyAdministration.ts';
import { inTransaction } from '../../infra/postgres/pool.ts';
import { signingKey } from '../../infra/postgres/signingKey.ts';
import { openWalletAccount } from '../../infra/postgres/walletAccounts.ts';
import { isTextSignedBy } from '../auth/signIn/signedText.ts';
import { json } from '../http/answer.ts';
import { limitAddress } from '../http/limitRoute.ts';
import { defineRoute } from '../http/route.ts';
import { newKeyOf } from './newKey.ts';
import { KEY_DESCRIPTIONS } from './openapi.ts';
import { presentNewKey } from './presentKey.ts';
import { web3Body, web3Query } from './schema.ts';
import { issueToken, WEB3_KEY_PATH as PATH, readToken, refusedError } from './web3Token.ts';

const MAX_BYTES = 64 * 1024;

export const web3TokenRoute = defineRoute({
  method: 'GET',
  path: PATH,
  access: 'open',
  query: web3Query,
  describes: KEY_DESCRIPTIONS.web3Token,
  async handler({ core: { config, sql, clock }, limits: { calls: limits } }, { address, query }) {
    await limitAddress(limits, address, { path: PATH, perMinute: config.limits.perAddressPerMinute });
    const wallet = query.address === undefined ? undefined : toWallet(query.address);
    if (query.address !== undefined && !wallet) throw refusedError('The wallet address is not valid');
    const { publicUrl, x402 } = config;
    const terms = { wallet, keyType: query.apiKeyType, nowMs: clock.now() };
    const token = issueToken(await signingKey(sql), { publicUrl, ...x402 }, terms);
    return json({ success: true, data: { token } });
  },
});

export const web3KeyRoute = defineRoute({
  method: 'POST',
  path: PATH,
  access: 'open',
  body: { json: { schema: web3Body, maxBytes: MAX_BYTES } },
  describes: KEY_DESCRIPTIONS.web3Key,
  async beforeBody({ core: { config }, limits: { calls: limits } }, { address }) {
    const perMinute = config.limits.perAddressPerMinute;
    await limitAddress(limits, address, { path: `POST ${PATH}`, perMinute });
  },
  async handler(dependencies, { body, requestId }) {
    const { sql, clock } = dependencies.core;
    const { fundsGate, web3Tokens } = dependencies.accounts;
    const { address, signature, token, ...terms } = body;
    const wallet = toWallet(address);
    if (!wallet) throw refusedError('The wallet address is not valid');
    const { id, expiresAtMs, ...said } = readToken(await signingKey(sql), token, clock.now());
    if (said.wallet && (said.wallet.family !== wallet.family || said.wallet.address !== wallet.address)) {
      throw refusedError('The token is for another wallet');
    }
    if (said.keyType !== undefined && said.keyType !== terms.apiKeyType) {
      throw refusedError(`The token is for a key of type ${said.keyType}`);
    }
    if (!(await isTextSignedBy(wallet, token, signature))) {
      throw refusedError('The signature is not of this wallet over this token');
    }
    const key = newKeyOf(dependencies.core, terms);
    if (!(await web3Tokens.use({ wallet, nonce: id, rememberUntilMs: expiresAtMs }))) {
      throw refusedError('The token was used already');
    }
    const accountId = await inTransaction(sql, (client) => openWalletAccount(client, wallet));
    await fundsGate.requireActive(accountId);
    const actor = { wallet: wallet.address, requestId };
    const { record, secret } = await makeKey(sql, actor, { ...key, accountId });
    return json({ success: true, data: presentNewKey(record, secret) });
  },
});
