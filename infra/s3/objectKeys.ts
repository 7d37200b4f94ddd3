/** Where the objects of a job lie. The queue_id is the folder, so an orphan can be told by its name alone. */
export const INCOMING = 'incoming/';
export const OUTPUT = 'output/';

/** The bytes that were measured: uploaded by the client, or fetched by us. */
export function sourceKey(queueId: string): string {
  return `${INCOMING}${queueId}/source`;
}

/** The n-th medium of an order, from 0. */
export function mediaKey(queueId: string, index: number): string {
  return `${INCOMING}${queueId}/media/${index}`;
}

/** What the order says that must not enter a history: words and URLs of a user. */
export function sealedOrderKey(queueId: string): string {
  return `${INCOMING}${queueId}/order.json`;
}

/** Everything that was made for a job lies below this. */
export function outputPrefix(queueId: string): string {
  return `${OUTPUT}${queueId}/`;
}

/** One attempt's output: a name of its own, so that a late attempt never overwrites what was already promised. */
export function outputKey(queueId: string, attemptId: string): string {
  return `${outputPrefix(queueId)}${attemptId}`;
}

/** The queue_id that an object's key names; undefined for a key that is not ours. */
export function queueIdOf(key: string): string | undefined {
  return /^(?:incoming|output)\/([0-9a-f-]{36})\//.exec(key)?.[1];
}
