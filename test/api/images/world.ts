/** An API in this process with a stub behind its picture models, and the charges of an account. */
import { randomUUID } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { Model } from '../../../domain/catalogue/model.ts';
import type { Config } from '../../../infra/config/config.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import type {
  Cutout,
  Enlargement,
  ImageEdit,
  ImageOrder,
  MediaProvider,
} from '../../../providers/shared/mediaProvider.ts';
import { startApi, type TestApi } from '../startApi.ts';

/** Returns a plain PNG of this size. */
export function png(width: number, height: number, grey = 120): Buffer {
  const rows = Buffer.alloc((width + 1) * height, grey);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  return pngOf(width, height, deflateSync(rows));
}

/** A PNG with valid chunks whose compressed data is nonsense. */
export function damagedPng(width: number, height: number): Buffer {
  return pngOf(width, height, Buffer.alloc(200, 0x5a));
}

function pngOf(width: number, height: number, packed: Buffer): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const parts = [pngPart('IHDR', head), pngPart('IDAT', packed), pngPart('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}

function pngPart(name: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), body]);
  const part = Buffer.alloc(named.length + 8);
  part.writeUInt32BE(body.length, 0);
  named.copy(part, 4);
  part.writeUInt32BE(crc32(named), part.length - 4);
  return part;
}

export const CARD = png(320, 240);

/** Does nothing, or what `next` and `result` say. Records its orders. */
class StubImageProvider implements MediaProvider {
  /** False: the pictures are converted before and after the call. */
  readsAll = true;
  edits: ImageEdit[] = [];
  orders: ImageOrder[] = [];
  cutouts: Cutout[] = [];
  enlargements: Enlargement[] = [];
  /** The next call awaits this. */
  next: (() => Promise<void> | void) | undefined;
  /** The result of a call. Default: the first source. */
  result: Buffer | undefined;
  refusal: Error | undefined;

  checkEdit(): void {
    if (this.refusal) throw this.refusal;
  }

  async editImage(edit: ImageEdit, { workFolder }: { workFolder: string }) {
    this.edits.push(edit);
    await this.#turn();
    return await this.#made(workFolder, edit.images[0]?.path);
  }

  async makeImages(order: ImageOrder, { workFolder }: { workFolder: string }) {
    this.orders.push(order);
    await this.#turn();
    return await Promise.all(Array.from({ length: order.count }, () => this.#made(workFolder, undefined)));
  }

  async cutOut(cutout: Cutout, { workFolder }: { workFolder: string }) {
    this.cutouts.push(cutout);
    await this.#turn();
    return await this.#made(workFolder, cutout.image.path);
  }

  async enlarge(enlargement: Enlargement, { workFolder }: { workFolder: string }) {
    this.enlargements.push(enlargement);
    await this.#turn();
    return await this.#made(workFolder, enlargement.image.path);
  }

  async #turn(): Promise<void> {
    const turn = this.next;
    this.next = undefined;
    await turn?.();
  }

  async #made(workFolder: string, source: string | undefined) {
    const path = join(workFolder, `made-${randomUUID()}`);
    if (source === undefined || this.result) await writeFile(path, this.result ?? CARD);
    else await copyFile(source, path);
    return { path, contentType: 'image/png' };
  }
}

export interface ImageWorld {
  api: TestApi;
  imageProvider: StubImageProvider;
  key: string;
  accountId: string;
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>;
  send(path: string, form: FormData): Promise<Response>;
  /** Returns "sku nano-USD" of every charge. */
  spent(): Promise<string[]>;
  /** Returns the number of open holds. */
  held(): Promise<number>;
}

const PICTURES = new Set(['image', 'inpaint', 'upscale']);

/** Assigns every picture model of the catalogue, and these, to the stub. All are online, so no trait moves. */
export function withStub(models: readonly Model[], allowed: string[] = []): (config: Config) => Config {
  return (config) => {
    const moved = config.models.map((model) =>
      PICTURES.has(model.kind)
        ? { ...model, provider: 'local', upstreamModel: model.upstreamModel ?? model.id }
        : model,
    );
    const modelCatalogue = createCatalogue([...moved, ...models]);
    return {
      ...config,
      models: modelCatalogue.models,
      modelCatalogue,
      fetch: { allowPrivateHosts: allowed },
    };
  };
}

export async function openImageWorld(
  config: (config: Config) => Config,
  environment?: Record<string, string>,
): Promise<ImageWorld> {
  const api = await startApi({ config, ...(environment && { environment }) });
  const imageProvider = new StubImageProvider();
  const { dependencies } = api.opened;
  dependencies.providers.mediaProviders = new Map([['local', imageProvider]]);
  dependencies.limits.calls.overrideOf = () => ({ requestsPerMinute: 100_000, failedPer30s: 1_000_000 });
  const { secret: key, accountId } = await api.newKey('INFERENCE');
  const amount = 10n ** 12n;
  await grant(dependencies.core.sql, {
    operationId: randomUUID(),
    accountId,
    currency: 'usd',
    amount,
    notes: 'test',
  });
  return {
    ...{ api, imageProvider, key, accountId },
    post: (path, body, headers = {}) =>
      api.call(path, {
        ...{ method: 'POST', key, body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json', ...headers },
      }),
    send: (path, form) => api.call(path, { method: 'POST', key, body: form }),
    async spent() {
      const { rows } = await dependencies.core.sql.query(
        'select sku, amount_nano::text as amount from usage_entries where account_id = $1 order by id',
        [accountId],
      );
      return rows.map(({ sku, amount: nano }) => `${sku} ${nano}`);
    },
    async held() {
      const { rows } = await dependencies.core.sql.query(
        'select count(*)::int as open from holds where account_id = $1',
        [accountId],
      );
      return rows[0].open;
    },
  };
}
