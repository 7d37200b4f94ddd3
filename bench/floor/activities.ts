/** Activities of the floor, as many as a job has: the same probe, an empty step instead of the charge, the same put. */
import { randomUUID } from 'node:crypto';
import { AUDIO_FORMATS } from '../../domain/catalogue/model.ts';
import { measureAudio } from '../../engines/media/measureAudio.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type { Storage } from '../../infra/s3/storage.ts';

export interface FloorInput {
  path: string;
  sizeBytes: number;
  queues: { first: string; second: string; last: string };
}

export interface FloorActivities {
  probe(input: FloorInput): Promise<number>;
  /** Empty. */
  charge(input: FloorInput): Promise<void>;
  put(input: FloorInput): Promise<void>;
}

export function floorActivities(tools: MediaTools, storage: Storage): FloorActivities {
  return {
    async probe({ path }) {
      const outcome = await measureAudio(tools, { path, accepted: AUDIO_FORMATS, maxSeconds: 300 });
      if (!outcome.ok) throw new Error(outcome.message);
      return outcome.audio.decodedSeconds;
    },
    async charge() {},
    async put({ path, sizeBytes }) {
      await storage.putFile(`floor/${randomUUID()}`, path, { sizeBytes, contentType: 'audio/wav' });
    },
  };
}
