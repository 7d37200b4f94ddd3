/** Keys of the objects of a job. The queue_id is the folder, so an orphan is recognised by its name. */
export const INCOMING = 'incoming/';
export const OUTPUT = 'output/';

/** Measured source: uploaded by the client, or fetched by this service. */
export function sourceKey(queueId: string): string {
  return `${INCOMING}${queueId}/source`;
}

/** The n-th medium of an order, from 0. */
export function mediaKey(queueId: string, index: number): string {
  return `${INCOMING}${queueId}/media/${index}`;
}

/** Parts of the order that must not enter a workflow history: text and URLs of a user. */
export function sealedOrderKey(queueId: string): string {
  return `${INCOMING}${queueId}/order.json`;
}

/** Folder of all outputs of a job. */
export function outputPrefix(queueId: string): string {
  return `${OUTPUT}${queueId}/`;
}

/** Output of one attempt, with a unique name, so that a late attempt never overwrites a promised one. */
export function outputKey(queueId: string, attemptId: string): string {
  return `${outputPrefix(queueId)}${attemptId}`;
}

/** queue_id of an object key; undefined for a foreign key. */
export function queueIdOf(key: string): string | undefined {
  return /^(?:incoming|output)\/([0-9a-f-]{36})\//.exec(key)?.[1];
}
