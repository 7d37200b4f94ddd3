/** Sign-in as the published client package makes it, from the challenge in a route's answer. */
import { createSIWxPayload, encodeSIWxHeader, type SIWxSigner } from '@x402/extensions/sign-in-with-x';

interface Challenge {
  extensions: Record<string, { info: object; supportedChains: object[] }>;
}

/** Returns a header value for one request. `url` is a GET route that accepts wallet sign-ins. */
export async function challengedSignIn(url: string, wallet: SIWxSigner): Promise<string> {
  const challenge = (await (await fetch(url)).json()) as Challenge;
  const offered = challenge.extensions['sign-in-with-x'];
  const info = { ...offered?.info, ...offered?.supportedChains[0] } as Parameters<typeof createSIWxPayload>[0];
  return encodeSIWxHeader(await createSIWxPayload(info, wallet, url));
}
