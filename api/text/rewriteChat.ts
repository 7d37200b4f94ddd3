/**
 * Rewrites other names to the published ones before the schema sees them (TEXT-3, TEXT-4): older names of fields, the
 * names of the brand, tools in the shapes of other services, and settings in the model name.
 */
import type { Config } from '../../infra/config/config.ts';

export type UncheckedBody = Record<string, unknown>;

const RENAMED: Readonly<Record<string, string>> = {
  input: 'messages',
  max_output_tokens: 'max_tokens',
  promptCacheKey: 'prompt_cache_key',
};

/** Names of `service_parameters` that a model name may set; the last two are not allowed. */
const SUFFIX_FLAGS = new Set([
  'strip_thinking_response',
  'disable_thinking',
  'enable_web_scraping',
  'enable_web_citations',
  'include_search_results_in_stream',
  'return_search_results_as_documents',
  'include_service_system_prompt',
]);
const SUFFIX_WORDS = new Set(['character_slug', 'enable_web_search']);

/** `id:key=value&key=value`; a colon without a setting behind it belongs to the id: `llama3.2:3b`. */
export function splitModelName(name: string): { id: string; suffix: string | undefined } {
  const equals = name.indexOf('=');
  const colon = name.lastIndexOf(':', equals);
  if (equals < 0 || colon < 1) return { id: name, suffix: undefined };
  return { id: name.slice(0, colon), suffix: name.slice(colon + 1) };
}

export function rewriteChat(sent: unknown, { brand }: Pick<Config, 'brand'>): unknown {
  if (!isObject(sent)) return sent;
  const body: UncheckedBody = { ...sent };
  for (const [from, to] of Object.entries(RENAMED)) rename(body, from, to);
  const search = webSearchOf(body);
  const parameters = ownParametersOf(body, brand);
  const settings: UncheckedBody = { ...parameters, ...search };
  if (typeof body.model === 'string') {
    const { id, suffix } = splitModelName(body.model);
    body.model = id;
    if (suffix !== undefined) Object.assign(settings, settingsOf(suffix, brand));
  }
  if (parameters !== undefined || Object.keys(settings).length > 0) body.service_parameters = settings;
  if (Array.isArray(body.tools)) body.tools = body.tools.map(asFunctionTool);
  if (body.tool_choice !== undefined) body.tool_choice = asToolChoice(body.tool_choice);
  return body;
}

/**
 * `service_parameters` under its own name and those of the brand, as a copy; undefined when there is no such object.
 */
export function ownParametersOf(body: UncheckedBody, brand: Config['brand']): UncheckedBody | undefined {
  const aliases = [brand.name, ...brand.aliases];
  for (const alias of aliases) rename(body, `${alias}_parameters`, 'service_parameters');
  if (!isObject(body.service_parameters)) return undefined;
  const parameters = { ...body.service_parameters };
  for (const alias of aliases) {
    rename(parameters, `include_${alias}_system_prompt`, 'include_service_system_prompt');
  }
  return parameters;
}

export function isObject(value: unknown): value is UncheckedBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The published name wins where both are sent; the schema says so when it does not know the other. */
function rename(object: UncheckedBody, from: string, to: string): void {
  if (from === to || !Object.hasOwn(object, from) || Object.hasOwn(object, to)) return;
  object[to] = object[from];
  delete object[from];
}

/** `web_search_options` of OpenAI's clients asks for a search, whatever its members are. */
function webSearchOf(body: UncheckedBody): UncheckedBody {
  const isAsked = body.web_search === true || isObject(body.web_search_options);
  if (typeof body.web_search === 'boolean') delete body.web_search;
  if (isObject(body.web_search_options) || body.web_search_options === null) delete body.web_search_options;
  return isAsked ? { enable_web_search: 'on' } : {};
}

/** Values are URL-decoded and override the body; unknown names are ignored. */
function settingsOf(suffix: string, brand: Config['brand']): UncheckedBody {
  const settings: UncheckedBody = {};
  for (const [given, value] of new URLSearchParams(suffix)) {
    const aliased = /^include_([a-z][a-z0-9-]*)_system_prompt$/.exec(given)?.[1] ?? '';
    const isBrand = aliased === brand.name || brand.aliases.includes(aliased);
    const key = isBrand ? 'include_service_system_prompt' : given;
    if (SUFFIX_WORDS.has(key)) settings[key] = value;
    else if (SUFFIX_FLAGS.has(key) && (value === 'true' || value === 'false')) settings[key] = value === 'true';
  }
  return settings;
}

/**
 * Accepts flat tools (`{type, name, parameters}`) and tools with `input_schema`, as the Responses and the Messages API
 * have them.
 */
export function asFunctionTool(tool: unknown): unknown {
  if (!isObject(tool) || isObject(tool.function) || typeof tool.name !== 'string') return tool;
  const { name, description, parameters, input_schema: schema, strict } = tool;
  const described = {
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? schema,
  };
  if (described.parameters === undefined) delete described.parameters;
  return { type: 'function', function: { name, ...described, ...(strict === undefined ? {} : { strict }) } };
}

function asToolChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, name } = choice;
  if (type === 'auto' || type === 'none' || type === 'required') return type;
  if (!isObject(choice.function) && typeof name === 'string') return { type: 'function', function: { name } };
  return choice;
}
