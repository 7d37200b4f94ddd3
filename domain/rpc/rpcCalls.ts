/**
 * The calls of one request in shared arrays. A batch has up to a hundred, and they live until a node answers: separate
 * objects, with a string for each id and each list of params, would cost more to keep than to read. Bench `rpc`.
 */
import { JsonBytes } from '../json/jsonBytes.ts';
import type { JsonWriter } from '../json/jsonWriter.ts';

/** One object for all calls of a method. */
export interface CallMethod {
  name: string;
  /** Submits something that must not be submitted twice (`eth_sendRawTransaction`, `sendTransaction` …). */
  isWrite: boolean;
  /** Price of a result. */
  credits: number;
}

/** Positions of ids and params. */
export interface PlacedCalls {
  /** Only the places are read: each is parsed JSON in its shortest form, with every digit. */
  json: JsonBytes;
  /** Four per call: start and end of its id, and of its params. Equal positions: no params. */
  places: Int32Array;
}

export const PLACES = 4;

export class RpcCalls {
  readonly length: number;
  private readonly json: JsonBytes;
  private readonly places: Int32Array;
  private readonly methods: readonly CallMethod[];

  constructor({ json, places }: PlacedCalls, methods: readonly CallMethod[]) {
    this.length = methods.length;
    this.json = json;
    this.places = places;
    this.methods = methods;
  }

  method(index: number): CallMethod {
    return this.methods[index] as CallMethod;
  }

  some(is: (method: CallMethod) => boolean): boolean {
    return this.methods.some(is);
  }

  /** JSON text, as it was sent. */
  id(index: number): string {
    return this.json.text(this.place(index, 0), this.place(index, 1));
  }

  writeId(index: number, to: JsonWriter): void {
    to.put(this.json, this.place(index, 0), this.place(index, 1));
  }

  /** JSON text; undefined when none were sent. */
  params(index: number): string | undefined {
    if (!this.hasParams(index)) return undefined;
    return this.json.text(this.place(index, 2), this.place(index, 3));
  }

  hasParams(index: number): boolean {
    return this.place(index, 2) !== this.place(index, 3);
  }

  writeParams(index: number, to: JsonWriter): void {
    to.put(this.json, this.place(index, 2), this.place(index, 3));
  }

  paramsEndWith(index: number, end: JsonBytes): boolean {
    const from = this.place(index, 3) - end.bytes.length;
    return from >= this.place(index, 2) && this.json.says(end, from);
  }

  /** Size of all ids and params. */
  sizeBytes(): number {
    let size = 0;
    for (let at = 0; at < this.length * PLACES; at += 2) {
      size += (this.places[at + 1] as number) - (this.places[at] as number);
    }
    return size;
  }

  /** The calls of these indices, in this order. */
  only(indices: readonly number[]): RpcCalls {
    const places = new Int32Array(indices.length * PLACES);
    for (const [at, index] of indices.entries()) {
      places.set(this.places.subarray(index * PLACES, (index + 1) * PLACES), at * PLACES);
    }
    const methods = indices.map((index) => this.method(index));
    return new RpcCalls({ json: this.json, places }, methods);
  }

  private place(index: number, which: number): number {
    return this.places[index * PLACES + which] as number;
  }
}

/** Concatenates calls. `params`: undefined when none were sent. */
export function placeCalls(calls: readonly { id: string; params: string | undefined }[]): PlacedCalls {
  const places = new Int32Array(calls.length * PLACES);
  const texts: Buffer[] = [];
  let at = 0;
  for (const [index, { id, params = '' }] of calls.entries()) {
    for (const [which, text] of [id, params].entries()) {
      const bytes = Buffer.from(text);
      texts.push(bytes);
      places.set([at, at + bytes.length], index * PLACES + which * 2);
      at += bytes.length;
    }
  }
  return { json: new JsonBytes(Buffer.concat(texts)), places };
}

/** Free call of our own. */
export function ownCall(name: string, params: unknown[]): RpcCalls {
  const method = { name, isWrite: false, credits: 0 };
  return new RpcCalls(placeCalls([{ id: '0', params: JSON.stringify(params) }]), [method]);
}
