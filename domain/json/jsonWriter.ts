/**
 * Writes JSON into one buffer. Building it from a hundred strings makes a hundred kB of garbage, which cost the process
 * as much as all its other work for a batch. Bench `rpc`.
 */
import { JsonBytes } from './jsonBytes.ts';

/** Above this size a call into the runtime, with its view, is faster. */
const LONG_BYTES = 1_024;
const ZERO = 0x30;

export class JsonWriter {
  private to: JsonBytes;
  private at = 0;

  /** `aboutBytes`: estimated size; if it suffices, nothing is copied twice. */
  constructor(aboutBytes: number) {
    this.to = new JsonBytes(Buffer.allocUnsafe(aboutBytes));
  }

  put(from: JsonBytes, start = 0, end = from.bytes.length): void {
    const size = end - start;
    this.makeRoom(size);
    if (size > LONG_BYTES) this.to.bytes.set(from.bytes.subarray(start, end), this.at);
    else this.copy(from, start, size);
    this.at += size;
  }

  text(text: string): void {
    this.put(new JsonBytes(Buffer.from(text)));
  }

  /** Integer from 0 to 2³¹ - 1. */
  number(value: number): void {
    let size = 1;
    for (let power = 10; power <= value; power *= 10) size += 1;
    this.makeRoom(size);
    const { bytes } = this.to;
    let left = value | 0;
    for (let place = this.at + size - 1; place >= this.at; place -= 1) {
      const next = (left / 10) | 0;
      bytes[place] = ZERO + left - next * 10;
      left = next;
    }
    this.at += size;
  }

  written(): Buffer {
    return this.to.bytes.subarray(0, this.at);
  }

  private copy(from: JsonBytes, start: number, size: number): void {
    const { to, at } = this;
    let index = 0;
    for (; index + 4 <= size; index += 4) {
      to.view.setInt32(at + index, from.view.getInt32(start + index, true), true);
    }
    for (; index < size; index += 1) to.bytes[at + index] = from.bytes[start + index] as number;
  }

  private makeRoom(size: number): void {
    const { bytes } = this.to;
    if (this.at + size <= bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, this.at + size));
    larger.set(this.written());
    this.to = new JsonBytes(larger);
  }
}
