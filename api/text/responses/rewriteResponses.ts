/** What clients of POST /responses send in other shapes, brought to the published ones before the schema looks at it. */
import type { Config } from '../../../infra/config/config.ts';
import { asFunctionTool, isObject, type Loose, ownParametersOf, splitModelName } from '../rewriteChat.ts';

export function rewriteResponses(sent: unknown, { brand }: Pick<Config, 'brand'>): unknown {
  if (!isObject(sent)) return sent;
  const body: Loose = { ...sent };
  const parameters = ownParametersOf(body, brand);
  if (parameters !== undefined) body.service_parameters = parameters;
  // Settings in the model name are for chat only (TEXT-4).
  if (typeof body.model === 'string') body.model = splitModelName(body.model).id;
  if (Array.isArray(body.input)) body.input = body.input.map(asTyped);
  if (Array.isArray(body.tools)) body.tools = body.tools.map(asNested);
  return body;
}

const PARTS: Readonly<Record<string, string>> = { text: 'input_text', image_url: 'input_image' };

/** A message without a type may have its parts by the names of chat. */
function asTyped(item: unknown): unknown {
  if (!isObject(item) || Object.hasOwn(item, 'type') || !Object.hasOwn(item, 'role')) return item;
  const { content } = item;
  return { ...item, type: 'message', content: Array.isArray(content) ? content.map(asPart) : content };
}

function asPart(part: unknown): unknown {
  if (!isObject(part) || typeof part.type !== 'string' || !Object.hasOwn(PARTS, part.type)) return part;
  return { ...part, type: PARTS[part.type] };
}

/** Flat, as the clients of this form send it. */
function asNested(tool: unknown): unknown {
  return isObject(tool) && tool.type === 'function' ? asFunctionTool(tool) : tool;
}
