/** Stub set-ups for the rows of the tables: the replies of the service and the expected outcome. */
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import type { Moment, ReplicateStub } from '../../stubs/replicate/replicate.ts';
import type { Caller } from './callReplicate.ts';

/** A prediction that succeeded, with an output at the delivery host. */
export function succeeded(
  output: (at: string) => unknown,
  { body, contentType = 'application/octet-stream', name = '/out/file', announcedBytes, cut = false }: Delivered,
) {
  return (stub: ReplicateStub) => {
    stub.outputs.set(name, { contentType, body, cut, ...(announcedBytes && { announcedBytes }) });
    const last = { status: 'succeeded', output: output(`${stub.deliveryUrl}${name}`) };
    stub.moments = [{ status: 'starting' }, last];
  };
}

interface Delivered {
  body: Buffer;
  contentType?: string;
  name?: string;
  announcedBytes?: number;
  /** Closes the connection before the announced length. */
  cut?: boolean;
}

export const mp3 = silentMp3(1);
export const ended = (moment: Moment) => (stub: ReplicateStub) => {
  stub.moments = [{ status: 'starting' }, moment];
};
export const answers =
  (at: string, status: number, body: unknown, headers: Record<string, string> = {}) =>
  (stub: ReplicateStub) => {
    stub.faults.push({ at, fault: { kind: 'reply', status, body, headers } });
  };
export const SUBMIT = 'POST /v1/models';
export const POLL = 'GET /v1/predictions/';

export interface Row {
  when: string;
  plan: (stub: ReplicateStub) => void;
  order?: () => Parameters<Caller['start']>[0];
  outcome: Record<string, unknown>;
}

export const words = { title: 'Something', detail: 'went wrong', status: 500 };
export const refused = (reason: string, more: object = {}) => ({ status: 'refused', reason, ...more });
