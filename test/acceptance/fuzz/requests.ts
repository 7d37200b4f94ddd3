/** Requests from the API description, valid or corrupted in one way. */
import fc from 'fast-check';
import type { DescribedOperation } from '../../harness/apiContract.ts';
import { toneWav } from '../recordings.ts';
import { fromSchema } from './fromSchema.ts';
import { hostileWord, spoiled } from './hostile.ts';

interface FuzzRequest {
  operation: DescribedOperation;
  url: string;
  method: string;
  headers: [string, string][];
  body?: Buffer;
}

/** Owner of the request's credential. The sender has the secrets. */
export type Sender = 'admin' | 'inference' | 'stranger' | 'none' | 'two';

export interface Drawn {
  request: FuzzRequest;
  sender: Sender;
}

/** Existing values for a parameter or field, by its name. */
export type Known = Readonly<Record<string, readonly string[]>>;

export function requestsOf(operations: readonly DescribedOperation[], known: Known): fc.Arbitrary<Drawn> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc.record({
      request: requestOf(operation, known),
      sender: fc.oneof(
        { weight: 20, arbitrary: fc.constant<Sender>('admin') },
        { weight: 1, arbitrary: fc.constantFrom<Sender>('inference', 'stranger', 'none', 'two') },
      ),
    }),
  );
}

function requestOf(operation: DescribedOperation, known: Known): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({ url: urlOf(operation, known), sent: bodyOf(operation, known), extra: extraHeaders })
    .map(({ url, sent, extra }) => ({
      operation,
      url,
      method: operation.method.toUpperCase(),
      headers: [...extra, ...sent.headers],
      ...(sent.body && { body: sent.body }),
    }));
}

const extraHeaders: fc.Arbitrary<[string, string][]> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<[string, string][]>([]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<[string, string][]>(
      [['Accept', 'text/csv']],
      [['Accept', 'image/webp;q=NaN, */*;q=0']],
      [['Idempotency-Key', 'x'.repeat(300)]],
      [['Idempotency-Key', '']],
      [['Range', 'bytes=-1,5-']],
      [['If-None-Match', '"a", W/"b"']],
      [['X-Request-ID', "'; drop table"]],
      [['Content-Encoding', 'gzip']],
    ),
  },
);

function urlOf({ path: place, operation }: DescribedOperation, known: Known): fc.Arbitrary<string> {
  const parameters = operation.parameters ?? [];
  const values = Object.fromEntries(
    parameters.map(({ in: where, name, schema, required }) => {
      const fits = known[name] ? fc.constantFrom(...known[name]) : fromSchema(schema);
      const drawn = fc.oneof({ weight: 5, arbitrary: fits.map(String) }, { weight: 2, arbitrary: hostileWord });
      return [`${where} ${name}`, required ? drawn : fc.option(drawn, { nil: undefined, freq: 1 })];
    }),
  );
  const stray = fc.oneof(
    { weight: 8, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: hostileWord.map((word) => `unknown=${encoded(word)}`) },
    { weight: 1, arbitrary: fc.constantFrom(...repeated(parameters.map(({ name }) => name))) },
  );
  return fc.tuple(fc.record(values), stray).map(([drawn, also]) => {
    const path = place.replace(/\{(\w+)\}/g, (_whole, name: string) => {
      return encoded(String(drawn[`path ${name}`] ?? '')) || 'none';
    });
    const query = Object.entries(drawn)
      .filter(([name, value]) => name.startsWith('query ') && value !== undefined)
      .map(([name, value]) => `${name.slice('query '.length)}=${encoded(String(value))}`);
    const all = [...query, also].filter((part) => part !== '');
    return `${path}${all.length > 0 ? `?${all.join('&')}` : ''}`;
  });
}

function repeated(names: string[]): string[] {
  return ['a=1&a=2', ...names.map((name) => `${name}=1&${name}=,`)];
}

/** Half a character of UTF-16 cannot be encoded. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

function encoded(text: string): string {
  const path = encodeURIComponent(wellFormed(text));
  // Clients resolve dot segments before they send.
  return /^\.+$/.test(path) ? 'dots' : path;
}

interface Sent {
  headers: [string, string][];
  body?: Buffer;
}

function bodyOf({ operation }: DescribedOperation, known: Known): fc.Arbitrary<Sent> {
  const { requestBody } = operation;
  if (!requestBody) return fc.constant({ headers: [] });
  const ways = Object.entries(requestBody.content).map(([type, { schema, example }]) => {
    const drawn = fc.oneof(
      { weight: 2, arbitrary: fc.constant(example).filter((value) => value !== undefined) },
      { weight: 2, arbitrary: fromSchema(schema) },
    );
    const value = (example === undefined ? fromSchema(schema) : drawn).chain((made) => withKnown(made, known));
    const perhapsSpoiled = fc.oneof({ weight: 2, arbitrary: value }, { weight: 3, arbitrary: value.chain(spoiled) });
    return type === 'multipart/form-data' ? perhapsSpoiled.chain(multipart) : perhapsSpoiled.chain(json);
  });
  const nothing: fc.Arbitrary<Sent>[] = [fc.constant({ headers: [] })];
  return fc.oneof(...ways.map((arbitrary) => ({ weight: 8, arbitrary })), {
    weight: 1,
    arbitrary: fc.oneof(...nothing),
  });
}

/** Gives fields that name things mostly existing names. */
function withKnown(value: unknown, known: Known): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null) return fc.constant(value);
  const chosen = Object.keys(value).filter((name) => known[name]);
  const drawn = Object.fromEntries(chosen.map((name) => [name, fc.constantFrom(...(known[name] ?? []))]));
  return fc.record(drawn).map((named) => ({ ...value, ...named }));
}

const JSON_TYPE: [string, string] = ['Content-Type', 'application/json'];

function json(value: unknown): fc.Arbitrary<Sent> {
  const text = JSON.stringify(value) ?? 'null';
  const whole = fc.constant<Sent>({ headers: [JSON_TYPE], body: Buffer.from(text) });
  const broken = fc.constantFrom<Sent>(
    { headers: [JSON_TYPE], body: Buffer.from(text.slice(0, -1)) },
    { headers: [JSON_TYPE], body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22]) },
    { headers: [JSON_TYPE], body: Buffer.from('['.repeat(5_000)) },
    { headers: [JSON_TYPE], body: Buffer.from('{"__proto__":{"isAdmin":true}}') },
    { headers: [['Content-Type', 'text/plain']], body: Buffer.from(text) },
    { headers: [['Content-Type', 'application/json; charset=utf-16']], body: Buffer.from(text, 'utf16le') },
    { headers: [['Content-Type', 'multipart/form-data']], body: Buffer.from(text) },
  );
  return fc.oneof({ weight: 9, arbitrary: whole }, { weight: 1, arbitrary: broken });
}

const BOUNDARY = 'a-boundary';

function multipart(value: unknown): fc.Arbitrary<Sent> {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const source = fc.oneof(fc.uint8Array({ maxLength: 2_000 }), fc.constant(RECORDING));
  return source.map((bytes) => {
    const parts = fields.flatMap(([name, content]) => {
      const quoted = wellFormed(name).replace(/[\r\n"]/g, '_');
      const file = name === 'file' ? '; filename="a.wav"\r\nContent-Type: audio/wav' : '';
      const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${quoted}"${file}\r\n\r\n`;
      return [Buffer.from(head), name === 'file' ? Buffer.from(bytes) : Buffer.from(String(content)), CRLF];
    });
    const body = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
    return { headers: [['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`]], body };
  });
}

const RECORDING = new Uint8Array(toneWav(1));
const CRLF = Buffer.from('\r\n');
