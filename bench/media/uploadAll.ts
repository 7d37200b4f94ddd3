import { Worker } from 'node:worker_threads';

export interface Uploads {
  url: string;
  key: string;
  fields: Record<string, string>;
  file: Uint8Array;
  count: number;
}

/** The statuses that came back. */
export function uploadAll(uploads: Uploads): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./uploader.js', import.meta.url), { workerData: uploads });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
