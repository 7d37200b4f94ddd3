/**
 * The calls of one request side by side. A batch has up to a hundred, and they live as long as a node takes to answer: as
 * objects of their own, with a text for each id and each list of params, they would cost more to keep than to read. Bench
 * `rpc`.
 */
import { JsonBytes } from '../json/jsonBytes.ts';
import type { JsonWriter } from '../json/jsonWriter.ts';

/** The same object for all calls of it. */
export interface CallMethod {
  name: string;
  /** Hands in something that must not happen twice (`eth_sendRawTransaction`, `sendTransaction` …). */
  isWrite: boolean;
  /** What a result costs. */
  credits: number;
}

/** Where ids and params stand. */
export interface PlacedCalls {
  /** Only the places are ever read: each is JSON in its shortest form that was understood, with every digit. */
  json: JsonBytes;
  /** Four for each call: where its id begins and ends, and its params; of the same place twice there are none. */
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

  /** Of all ids and params. */
  sizeBytes(): number {
    let size = 0;
    for (let at = 0; at < this.length * PLACES; at += 2) {
      size += (this.places[at + 1] as number) - (this.places[at] as number);
    }
    return size;
  }

  /** Some of them, in this order. */
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

/** Written one after the other. `params`: undefined when none were sent. */
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

/** A question of our own, which nobody pays for. */
export function ownCall(name: string, params: unknown[]): RpcCalls {
  const method = { name, isWrite: false, credits: 0 };
  return new RpcCalls(placeCalls([{ id: '0', params: JSON.stringify(params) }]), [method]);
}
