/** Client steps of a voice changer job. */
import { type ApiClient, blobOf, type Call, type Reply } from './client.ts';
import { eventually } from './deployment.ts';

const ROUTES = '/audio/voice-changer';

export interface Order {
  model: string;
  fields?: Record<string, string>;
  source: Blob | Buffer;
  call?: Call;
}

export function queueFile(api: ApiClient, order: Order): Promise<Reply> {
  const file = order.source instanceof Blob ? order.source : blobOf(order.source);
  const form = { model: order.model, ...order.fields, file };
  return api.post(`${ROUTES}/queue`, { ...order.call, form });
}

export function queueJson(api: ApiClient, json: object, call?: Call): Promise<Reply> {
  return api.post(`${ROUTES}/queue`, { ...call, json });
}

/** Returns the queue_id of an accepted order. Throws with the whole answer if it was refused. */
export function queueIdOf(reply: Reply): string {
  const { queue_id: queueId } = reply.body;
  if (reply.status === 200 && typeof queueId === 'string') return queueId;
  throw new Error(`not accepted: ${reply.status} ${reply.bytes.toString('utf8').slice(0, 500)}`);
}

export interface Job {
  model: string;
  queueId: string;
}

export function retrieve(
  api: ApiClient,
  { model, queueId }: Job,
  more: { deleteAfter?: boolean; range?: string } = {},
): Promise<Reply> {
  const { deleteAfter, range } = more;
  return api.post(`${ROUTES}/retrieve`, {
    json: { model, queue_id: queueId, ...(deleteAfter && { delete_media_on_completion: true }) },
    headers: range === undefined ? {} : { range },
  });
}

export function complete(api: ApiClient, { model, queueId }: Job): Promise<Reply> {
  return api.post(`${ROUTES}/complete`, { json: { model, queue_id: queueId } });
}

/** Repeats while the answer is `success: false`, which means not yet. */
export async function completeForGood(api: ApiClient, job: Job): Promise<void> {
  await eventually(async () => ((await complete(api, job)).body.success === true ? true : undefined));
}

export function isProcessing(reply: Reply): boolean {
  return reply.status === 200 && reply.body.status === 'PROCESSING';
}

/** First answer of retrieve other than PROCESSING. */
export function outcomeOf(api: ApiClient, job: Job, timeoutMs?: number): Promise<Reply> {
  return eventually(async () => {
    const reply = await retrieve(api, job);
    return isProcessing(reply) ? undefined : reply;
  }, timeoutMs);
}

export async function stateOf(api: ApiClient, queueId: string): Promise<unknown> {
  return (await api.get(`/jobs/${queueId}`)).body.state;
}

export function untilState(api: ApiClient, queueId: string, state: string, timeoutMs?: number): Promise<true> {
  return eventually(async () => ((await stateOf(api, queueId)) === state ? true : undefined), timeoutMs);
}
