/** API client like a foreign program: HTTP only. */
import { readFileSync } from 'node:fs';

export interface Reply {
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** Parsed JSON body. Empty object for other types. */
  body: Record<string, unknown>;
}

export interface Call {
  key?: string;
  json?: unknown;
  form?: Record<string, string | Blob>;
  /** Body sent as it is, with this type. */
  raw?: { bytes: Buffer<ArrayBuffer>; contentType?: string };
  headers?: Record<string, string>;
}

export interface ApiClient {
  get(path: string, call?: Call): Promise<Reply>;
  post(path: string, call?: Call): Promise<Reply>;
}

const PATIENCE_MS = 110_000;

export function apiClient(baseUrl: string, key: string): ApiClient {
  const send = async (method: string, path: string, call: Call = {}): Promise<Reply> => {
    const headers = { authorization: `Bearer ${call.key ?? key}`, ...contentTypeOf(call), ...call.headers };
    const body = bodyOf(call);
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const parsed: unknown = isJson ? JSON.parse(bytes.toString('utf8')) : {};
    return { status: response.status, headers: response.headers, bytes, body: asObject(parsed) };
  };
  return {
    get: (path, call) => send('GET', path, call),
    post: (path, call) => send('POST', path, call),
  };
}

function contentTypeOf(call: Call): Record<string, string> {
  if (call.raw) return call.raw.contentType === undefined ? {} : { 'content-type': call.raw.contentType };
  return call.json === undefined ? {} : { 'content-type': 'application/json' };
}

function bodyOf(call: Call): Buffer<ArrayBuffer> | FormData | string | undefined {
  if (call.raw) return call.raw.bytes;
  if (call.form) return toForm(call.form);
  return call.json === undefined ? undefined : JSON.stringify(call.json);
}

function toForm(parts: Record<string, string | Blob>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return form;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function fileOf(path: string): Blob {
  return new Blob([new Uint8Array(readFileSync(path))]);
}

export function blobOf(bytes: Buffer): Blob {
  return new Blob([new Uint8Array(bytes)]);
}
