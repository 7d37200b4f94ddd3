/** A body that contradicts its encoding fails for its reader only. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { decodedBody } from '../../../infra/http/decodedBody.ts';

async function* bytes(): AsyncGenerator<Buffer> {
  yield Buffer.from('this is no compressed body');
}

it.each(['gzip', 'deflate', 'br'])('rejects an invalid %s body, also in a late read', async (encoding) => {
  const body = decodedBody(bytes(), { encoding, maxEncodedBytes: 1_000 });
  await sleep(50);
  const read = async () => {
    for await (const _ of body);
  };
  await expect(read()).rejects.toThrow();
});
