/** Requests that take a minute of CPU time in the API or a decoder. They run in long mode only. */
import { madeByFfmpeg } from '../recordings.ts';
import { sixBodies } from './plainRows.ts';
import { ask, formOf, type HostileRow } from './row.ts';
import type { HostileWorld } from './world.ts';

export const LONG_ROWS: readonly HostileRow<HostileWorld>[] = [
  {
    // One connection cannot send more within the minute for a body.
    name: 'six conversations at once in chunks of one byte, 5.4 MB together',
    send: sixBodies(900_000),
    ...{ status: 400, body: /Invalid JSON/, charged: 0n },
    whenSlow: [
      {
        because: 'A body that is not there within its minute is refused before anybody reads it as JSON.',
        ...{ status: 408, body: /^\{"error":"Request Timeout"\}$/ },
      },
    ],
  },
  {
    name: 'a recording of 2 hours with 8 channels',
    async send({ origin, key }) {
      const source = ['-f', 'lavfi', '-i', 'anullsrc=channel_layout=7.1:sample_rate=48000', '-t', '7200'];
      const bytes = await madeByFfmpeg([...source, '-compression_level', '0'], 'flac');
      const body = formOf(bytes, 'long.flac', { model: 'local-transcribe' });
      return await ask(origin, '/audio/transcriptions', { key, body });
    },
    // The recording is decoded before it is refused.
    ...{ status: 422, body: /at most 20 minutes; the recording lasts 7200 seconds/, charged: 0n },
    whenSlow: [
      {
        because: 'A decoder that has not reached the end within its two minutes is killed, and no length is known.',
        ...{ status: 400, body: /The audio takes too long to decode\./ },
      },
    ],
  },
];
