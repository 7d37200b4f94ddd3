/**
 * Checks once whether an Ollama runs at an address and lists its models: GET /api/tags, then POST /api/show for each. A
 * server that is not an Ollama gets no further request. No reply makes this throw.
 */
import type { EmbeddingModel, TextModel } from '../../domain/catalogue/model.ts';
import { createServiceHttp, type ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { type Fields, isFields, parseJson } from '../shared/textFailures.ts';
import { toModel } from './toModel.ts';

export interface FoundOllama {
  /** Text and embedding models, the latest change first. */
  models: (TextModel | EmbeddingModel)[];
  /** Number of listed models that are not in `models`. */
  leftOut: number;
}

export interface LookOptions {
  /** An http(s) URL without a trailing slash. */
  address: string;
  /** Time limit for the list: the longest delay of a start without an Ollama. A refused connection costs no time. */
  listMs?: number;
  /** Time limit for all descriptions; models without one by then are left out. */
  showMs?: number;
}

const LIST_MS = 2_000;
const SHOW_MS = 3_000;
/** Nobody uses more, and each costs a request at every start. */
const MAX_MODELS = 200;
const AT_ONCE = 8;
/** Holds a list of ten thousand models, or the longest licence in a description. */
const MAX_REPLY_BYTES = 8 * 1024 * 1024;

/** Undefined: no Ollama was found. */
export async function findOllama(options: LookOptions): Promise<FoundOllama | undefined> {
  const { address, listMs = LIST_MS, showMs = SHOW_MS } = options;
  const timeouts = { connectMs: listMs, totalMs: Math.max(listMs, showMs) };
  const service = createServiceHttp({
    ...{ baseUrl: address, allowPrivateNetwork: true, maxReplyBytes: MAX_REPLY_BYTES, timeouts },
  });
  try {
    const listed = await listOf(service, AbortSignal.timeout(listMs));
    if (listed === undefined) return undefined;
    const wanted = listed.toSorted(lastChangedFirst).slice(0, MAX_MODELS);
    const models = await describeAll(service, wanted, AbortSignal.timeout(showMs));
    return { models, leftOut: listed.length - models.length };
  } finally {
    // Requests still running were aborted by their signal.
    void service.close();
  }
}

interface ListedModel {
  name: string;
  modifiedAt: unknown;
}

/** Omits models that run on another service (`remote_host`): they are neither local nor free. */
async function listOf(service: ServiceHttp, signal: AbortSignal): Promise<ListedModel[] | undefined> {
  const body = await ask(service, { method: 'GET', path: '/api/tags', signal });
  if (body === undefined || !Object.hasOwn(body, 'models')) return undefined;
  const entries: unknown = body.models ?? [];
  if (!Array.isArray(entries) || !entries.every(isFields)) return undefined;
  const names = new Map<string, ListedModel>();
  for (const { name, modified_at: modifiedAt, remote_host: remote } of entries) {
    if (typeof name !== 'string' || name === '') return undefined;
    if (!remote) names.set(name, { name, modifiedAt });
  }
  return [...names.values()];
}

function lastChangedFirst(left: ListedModel, right: ListedModel): number {
  return String(right.modifiedAt).localeCompare(String(left.modifiedAt));
}

async function describeAll(service: ServiceHttp, listed: readonly ListedModel[], signal: AbortSignal) {
  const found = new Array<TextModel | EmbeddingModel | undefined>(listed.length);
  const left = listed.entries();
  const line = async () => {
    for (const [at, { name, modifiedAt }] of left) {
      const shown = await ask(service, { method: 'POST', path: '/api/show', json: { model: name }, signal });
      found[at] = shown && toModel({ name, modifiedAt, shown });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  return found.filter((model) => model !== undefined);
}

/** The JSON object of a 200 reply; undefined for any other result or error. */
async function ask(service: ServiceHttp, call: Parameters<ServiceHttp['request']>[0]): Promise<Fields | undefined> {
  try {
    const { status, body } = await service.request(call);
    const json = status === 200 ? parseJson(body) : undefined;
    return isFields(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
