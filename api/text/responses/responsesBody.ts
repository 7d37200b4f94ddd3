/**
 * Body of POST /responses (TEXT-24). Unlike the chat body it ignores unknown fields. Fields that clients are known to
 * send are listed for the description of the API.
 */
import { z } from 'zod';
import { anonUserId } from '../../http/endUser.ts';
import { EFFORTS, imageDetail, serviceParameters, VERBOSITIES } from '../chatBody.ts';

const nullish = <T extends z.ZodType>(schema: T) => schema.nullable().optional();
const status = z.enum(['completed', 'in_progress']).exactOptional();

const textPart = z.object({ type: z.enum(['input_text', 'output_text']), text: z.string() });
const imagePart = z.object({
  type: z.literal('input_image'),
  image_url: z.union([z.string().min(1), z.object({ url: z.string().min(1), detail: imageDetail })]),
  detail: imageDetail,
});
/** Beyond the published table: `file` as chat accepts it. */
const filePart = z
  .object({
    type: z.literal('input_file'),
    file_data: nullish(z.string().min(1)),
    file_url: nullish(z.string().min(1)),
    filename: nullish(z.string().max(255)),
  })
  .refine((part) => (part.file_data == null) !== (part.file_url == null), 'one of file_data and file_url');
const part = z.discriminatedUnion('type', [textPart, imagePart, filePart]);
export type ResponsesPart = z.output<typeof part>;

const item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message').describe('May be left out.'),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([z.string(), z.array(part)], { error: firstFaultOf(z.array(part)) }),
    id: z.string().exactOptional(),
    status,
  }),
  z.object({
    type: z.literal('function_call'),
    id: z.string().exactOptional(),
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
    status,
  }),
  z.object({
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: z
      .unknown()
      .refine((value) => value !== undefined, 'Required')
      .describe('Any JSON.'),
  }),
  z.object({
    type: z.literal('reasoning'),
    id: nullish(z.string()),
    summary: nullish(z.array(z.string())),
    content: nullish(z.union([z.string(), z.array(z.unknown())])),
    encrypted_content: nullish(z.string()),
    status: nullish(z.enum(['completed', 'in_progress'])),
  }),
  z.object({ type: z.literal('item_reference'), id: z.string() }),
  /** Beyond the published table: items of an earlier answer are accepted. */
  z.object({ type: z.literal('web_search_call'), id: z.string().exactOptional() }),
]);
export type SentItem = z.output<typeof item>;

const MAX_ITEMS = 10_000;
const items = z.array(item).min(1).max(MAX_ITEMS);

const functionTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().min(1).max(128),
    description: nullish(z.string()),
    parameters: nullish(z.record(z.string(), z.unknown())),
    strict: nullish(z.boolean()),
  }),
});
const word = z.string().exactOptional();
const searchTool = z.object({
  type: z.literal('web_search'),
  search_context_size: z.enum(['low', 'medium', 'high']).exactOptional(),
  user_location: nullish(
    z.object({
      type: z.literal('approximate').exactOptional(),
      ...{ city: nullish(z.string()), region: nullish(z.string()) },
      ...{ country: nullish(z.string()), timezone: nullish(z.string()) },
    }),
  ),
});
const handles = z.array(z.string()).max(10).exactOptional();
const xSearchTool = z.object({
  type: z.literal('x_search'),
  ...{ allowed_x_handles: handles, excluded_x_handles: handles, from_date: word, to_date: word },
  enable_image_understanding: z.boolean().exactOptional(),
  enable_video_understanding: z.boolean().exactOptional(),
});
const KNOWN_TOOLS = { function: functionTool, web_search: searchTool, x_search: xSearchTool };
/** Accepted and dropped. */
const otherTool = z.object({
  type: z.string().refine((type) => !Object.hasOwn(KNOWN_TOOLS, type)),
});
const tool = z.union([functionTool, searchTool, xSearchTool, otherTool], { error: toolError });

function toolError(issue: { input?: unknown }): string | undefined {
  const { type } = (issue.input ?? {}) as { type?: unknown };
  const known = Object.entries(KNOWN_TOOLS).find(([name]) => name === type)?.[1];
  return known && firstFaultOf(known)(issue);
}

const format = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().min(1).max(128),
    schema: z.record(z.string(), z.unknown()),
    description: nullish(z.string()),
    strict: nullish(z.boolean()),
  }),
]);

/** Other parameters are dropped, as unknown ones are. */
const parameters = serviceParameters.pick({
  character_slug: true,
  enable_e2ee: true,
  enable_web_search: true,
  enable_web_scraping: true,
  enable_web_citations: true,
  include_service_system_prompt: true,
  include_search_results_in_stream: true,
});

const ignored = z.unknown().optional().describe('Accepted without effect.');
const WITHOUT_EFFECT = {
  ...{ background: ignored, metadata: ignored, n: ignored, previous_response_id: ignored },
  ...{ prompt_cache_key: ignored, seed: ignored, stop: ignored, store: ignored, user: ignored },
  // Fields that clients of the OpenAI API send.
  ...{ conversation: ignored, max_tool_calls: ignored, prompt_cache_retention: ignored },
  ...{ safety_identifier: ignored, service_tier: ignored, stream_options: ignored },
  ...{ top_logprobs: ignored, truncation: ignored },
};

export const responsesBody = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), items], { error: firstFaultOf(items) }),
  instructions: nullish(z.string()),
  max_output_tokens: nullish(z.int().min(1)),
  temperature: nullish(z.number().min(0).max(2)),
  top_p: nullish(z.number().min(0).max(1)),
  reasoning: nullish(
    z.object({
      effort: nullish(z.enum(EFFORTS)),
      enabled: nullish(z.boolean()),
      summary: nullish(z.enum(['auto', 'concise', 'detailed'])),
    }),
  ),
  text: nullish(z.object({ format: nullish(format), verbosity: nullish(z.enum(VERBOSITIES)) })),
  tools: nullish(z.array(tool).max(1_024)),
  tool_choice: nullish(
    z.union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) }),
    ]),
  ),
  parallel_tool_calls: nullish(z.boolean()),
  web_search: nullish(z.boolean()),
  include: nullish(z.array(z.string()).max(100)),
  stream: nullish(z.boolean()),
  fallbacks: nullish(z.array(z.object({ model: z.string().min(1) })).max(10)),
  anon_user_id: anonUserId,
  service_parameters: parameters.prefault({}),
  ...WITHOUT_EFFECT,
});
export type ResponsesBody = z.output<typeof responsesBody>;

/** Only the finding about the intended member of a union is reported. */
function firstFaultOf(meant: z.ZodType): (issue: { input?: unknown }) => string | undefined {
  return ({ input }) => {
    if (typeof input !== 'object' || input === null) return undefined;
    const [first] = meant.safeParse(input).error?.issues ?? [];
    return first && `${first.path.map(String).join('.')}: ${first.message}`.replace(/^: /, '');
  };
}
