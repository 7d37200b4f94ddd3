import { Worker } from 'node:worker_threads';

export interface Uploads {
  url: string;
  key: string;
  fields: Record<string, string>;
  file: Uint8Array;
  count: number;
}

export interface Uploader {
  /** Sends the file `count` times at once. Resolves with the statuses. */
  sendAll(): Promise<number[]>;
  close(): Promise<void>;
}

/** Resolves when the thread is ready to send, because its start takes a core for a while. */
export async function openUploader(uploads: Uploads): Promise<Uploader> {
  const worker = new Worker(new URL('./uploader.js', import.meta.url), { workerData: uploads });
  const answer = () =>
    new Promise<unknown>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  await answer();
  return {
    async sendAll() {
      const answered = answer();
      worker.postMessage('go');
      return (await answered) as number[];
    },
    async close() {
      await worker.terminate();
    },
  };
}
