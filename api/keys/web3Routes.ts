/**
 * Keys for wallets (api-facts 4.9): a wallet signs a token of ours and gets a key of its account, with all the terms that
 * any key can have: a cap, an expiry, the models it may call. Of an ADMIN key it can make more, and children of those.
 */
import { toWallet } from '../../domain/wallets.ts';
import { makeKey } from '../../infra/postgres/keyAdministration.ts';
import { inTransaction } from '../../infra/postgres/pool.ts';
import { signingKey } from '../../infra/postgres/signingKey.ts';
import { openWalletAccount } from '../../infra/postgres/walletAccounts.ts';
import { json } from '../answer.ts';
import { isTextSignedBy } from '../auth/signIn/signedText.ts';
import { limitAddress } from '../limitRoute.ts';
import { defineRoute } from '../route.ts';
import { KEY_DESCRIPTIONS } from './descriptions.ts';
import { newKeyOf } from './newKey.ts';
import { presentNewKey } from './presentKey.ts';
import { web3Body } from './shapes.ts';
import { issueToken, readToken, refused } from './web3Token.ts';

const PATH = '/api_keys/generate_web3_key';
const MOST_BYTES = 64 * 1024;

export const web3TokenRoute = defineRoute({
  method: 'GET',
  path: PATH,
  access: 'open',
  describes: KEY_DESCRIPTIONS.web3Token,
  async handler({ config, limits, sql, clock }, { address }) {
    await limitAddress({ limits }, address, { path: PATH, perMinute: config.limits.perAddressPerMinute });
    return json({ success: true, data: { token: issueToken(await signingKey(sql), clock.now()) } });
  },
});

export const web3KeyRoute = defineRoute({
  method: 'POST',
  path: PATH,
  access: 'open',
  body: { json: { schema: web3Body, maxBytes: MOST_BYTES } },
  describes: KEY_DESCRIPTIONS.web3Key,
  async beforeBody({ config, limits }, { address }) {
    const perMinute = config.limits.perAddressPerMinute;
    await limitAddress({ limits }, address, { path: `POST ${PATH}`, perMinute });
  },
  async handler(dependencies, { body, requestId }) {
    const { sql, clock, wallets, web3Tokens } = dependencies;
    const { address, signature, token, ...terms } = body;
    const wallet = toWallet(address);
    if (!wallet) throw refused('The wallet address is not valid');
    const { id, expiresAtMs } = readToken(await signingKey(sql), token, clock.now());
    if (!(await isTextSignedBy(wallet, token, signature))) {
      throw refused('The signature is not of this wallet over this token');
    }
    const key = newKeyOf(dependencies, terms);
    if (!(await web3Tokens.use({ wallet, nonce: id, rememberUntilMs: expiresAtMs }))) {
      throw refused('The token was used already');
    }
    const accountId = await inTransaction(sql, (client) => openWalletAccount(client, wallet));
    await wallets.requireActive(accountId);
    const actor = { wallet: wallet.address, requestId };
    const { record, secret } = await makeKey(sql, actor, { ...key, accountId });
    return json({ success: true, data: presentNewKey(record, secret) });
  },
});
