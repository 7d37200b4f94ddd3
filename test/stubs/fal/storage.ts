/** Storage of the stub: uploads are opened, sent whole or in parts, and read by URL. */
import type { IncomingMessage } from 'node:http';

interface StoredFile {
  name: string;
  contentType: string;
  /** The lifecycle header of the opening request. */
  lifecycle: string | undefined;
  parts: number;
  bytes: Buffer;
}

interface StorageCall {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Buffer;
  baseUrl: string;
}

export interface StubStorage {
  files: StoredFile[];
  /** Host of uploads. Default: the stub itself. */
  uploadUrl: string | undefined;
  answer(call: StorageCall): { status: number; body: unknown };
}

interface OpenUpload {
  file: Omit<StoredFile, 'bytes' | 'parts'>;
  parts: Map<number, Buffer>;
}

export function createStubStorage(): StubStorage {
  const uploads = new Map<string, OpenUpload>();
  const storage: StubStorage = {
    files: [],
    uploadUrl: undefined,
    answer(call) {
      const path = call.url.pathname;
      if (path.startsWith('/storage/upload/initiate')) return open(call);
      const [, where, id = '', rest] = path.split('/');
      if (where === 'stored') return read(storage, id);
      // The URL is signed, so its query must return unchanged.
      if (call.url.search !== SIGNED_QUERY) return { status: 403, body: { detail: 'SignatureDoesNotMatch' } };
      const upload = uploads.get(id);
      if (!upload) return { status: 404, body: { detail: 'no such upload' } };
      if (call.headers['content-length'] === undefined) return { status: 411, body: {} };
      return put(storage, upload, { call, rest });
    },
  };
  const open = ({ url, headers, body, baseUrl }: StorageCall) => {
    const asked = JSON.parse(body.toString('utf8')) as { content_type?: string; file_name?: string };
    if (url.searchParams.get('storage_type') !== 'fal-cdn-v3' || !asked.content_type || !asked.file_name) {
      return { status: 422, body: { detail: [{ loc: ['body'], msg: 'Field required', type: 'missing' }] } };
    }
    const lifecycle = headers['x-fal-object-lifecycle'];
    const file = { name: asked.file_name, contentType: asked.content_type, lifecycle: lifecycle?.toString() };
    const id = String(uploads.size + 1);
    uploads.set(id, { file, parts: new Map() });
    const upload_url = storage.uploadUrl ?? `${baseUrl}/put/${id}${SIGNED_QUERY}`;
    return { status: 200, body: { file_url: `${baseUrl}/stored/${asked.file_name}`, upload_url } };
  };
  return storage;
}

const SIGNED_QUERY = '?X-Signature=a%2Fb%20c&expires=60';

interface Put {
  call: StorageCall;
  rest: string | undefined;
}

function put(storage: StubStorage, upload: OpenUpload, { call, rest }: Put): { status: number; body: unknown } {
  if (rest === undefined && call.method === 'PUT') {
    storage.files.push({ ...upload.file, parts: 1, bytes: call.body });
    return { status: 200, body: {} };
  }
  if (rest === 'complete' && call.method === 'POST') {
    const { parts } = JSON.parse(call.body.toString('utf8')) as {
      parts: { partNumber: number; etag: string }[];
    };
    const bytes = parts.map(({ partNumber, etag }) =>
      etag === `e${partNumber}` ? upload.parts.get(partNumber) : undefined,
    );
    if (bytes.some((each) => each === undefined)) return { status: 400, body: { detail: 'InvalidPart' } };
    const whole = Buffer.concat(bytes.flatMap((each) => each ?? []));
    storage.files.push({ ...upload.file, parts: parts.length, bytes: whole });
    return { status: 200, body: {} };
  }
  const partNumber = Number(rest);
  if (call.method !== 'PUT' || !Number.isInteger(partNumber)) return { status: 405, body: {} };
  upload.parts.set(partNumber, call.body);
  return { status: 200, body: { partNumber, etag: `e${partNumber}` } };
}

function read(storage: StubStorage, name: string): { status: number; body: unknown } {
  const file = storage.files.find((each) => each.name === name);
  return file ? { status: 200, body: file.bytes } : { status: 404, body: { detail: 'Not Found' } };
}
