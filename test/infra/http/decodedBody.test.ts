/** A body that is not what its encoding says fails for its reader, and for nobody else. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { decodedBody } from '../../../infra/http/decodedBody.ts';

async function* bytes(): AsyncGenerator<Buffer> {
  yield Buffer.from('this is no compressed body');
}

it.each(['gzip', 'deflate', 'br'])('as %s, also when it is read only after it failed', async (encoding) => {
  const body = decodedBody(bytes(), { encoding, maxEncodedBytes: 1_000 });
  await sleep(50);
  const read = async () => {
    for await (const _ of body);
  };
  await expect(read()).rejects.toThrow();
});
