/** A caller of the key routes: sends JSON, reads JSON. */
import type { TestApi } from '../startApi.ts';

export interface KeyAnswer extends Record<string, unknown> {
  id: string;
  apiKey: string;
  expiresAt: string | null;
  consumptionLimits: Record<string, number | null>;
}

export interface ErrorTree {
  _errors: string[];
  [field: string]: ErrorTree | string[] | undefined;
}

/** The fields that tests read. Fields that tests only compare as a whole are left out. */
export interface KeyReply {
  data: KeyAnswer;
  error: string;
  details: ErrorTree;
}

export interface Reply<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface Ask {
  key: string;
  /** Sent as JSON. A string is sent unchanged. */
  body?: unknown;
}

export async function ask<Body = KeyReply>(
  api: Pick<TestApi, 'baseUrl'>,
  line: string,
  { key, body }: Ask,
): Promise<Reply<Body>> {
  const [method = '', path = ''] = line.split(' ');
  const headers: Record<string, string> = { authorization: `Bearer ${key}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(`${api.baseUrl}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

export const INFERENCE = { apiKeyType: 'INFERENCE', description: 'a key' } as const;

export async function create(
  api: Pick<TestApi, 'baseUrl'>,
  key: string,
  more: Record<string, unknown> = {},
): Promise<KeyAnswer> {
  const { status, body } = await ask(api, 'POST /api_keys', { key, body: { ...INFERENCE, ...more } });
  if (status !== 200) throw new Error(`not created: ${status} ${JSON.stringify(body)}`);
  return body.data;
}

export const NOBODYS_ID = '00000000-0000-4000-8000-000000000000';
