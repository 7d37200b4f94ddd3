/** A sign-in as a client of the published package makes it: from the challenge that a route answers with. */
import { createSIWxPayload, encodeSIWxHeader, type SIWxSigner } from '@x402/extensions/sign-in-with-x';

interface Challenge {
  extensions: Record<string, { info: object; supportedChains: object[] }>;
}

/** The header's value, good for one request. `url`: of a GET route that wallets sign in to. */
export async function challengedSignIn(url: string, wallet: SIWxSigner): Promise<string> {
  const challenge = (await (await fetch(url)).json()) as Challenge;
  const offered = challenge.extensions['sign-in-with-x'];
  const info = { ...offered?.info, ...offered?.supportedChains[0] } as Parameters<typeof createSIWxPayload>[0];
  return encodeSIWxHeader(await createSIWxPayload(info, wallet, url));
}
