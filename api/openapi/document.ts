/**
 * The API's own description (OpenAPI 3.1), from the table of routes: the schemas that check the requests are the ones
 * that are shown.
 */
import { z } from 'zod';
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject } from 'zod-openapi';
import { BASE_PATHS } from '../../domain/basePaths.ts';
import { isForWallets } from '../auth/authenticate.ts';
import { type AnswerDescription, type Example, GROUPS, type RouteDescription } from '../http/describe.ts';
import type { MultipartSpec, Route } from '../http/route.ts';
import { failuresOf } from './failures.ts';
import {
  COMMON_HEADERS,
  headerReferences,
  LIMIT_HEADERS,
  REFUSAL_HEADERS,
  WALLET_HEADERS,
  WINDOW_HEADERS,
} from './headers.ts';
import { introduction } from './introduction.ts';

export interface DocumentOptions {
  routes: readonly Route[];
  /** Name of the brand. */
  title: string;
  /** `YYYYMMDD.HHMMSS` of the build (API-14). */
  version: string;
}

export type ApiDocument = ReturnType<typeof createDocument>;

/** Throws when a route has no description. */
export function describeApi({ routes, title, version }: DocumentOptions): ApiDocument {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {};
  for (const route of routes) {
    if (!route.describes) throw new Error(`${route.method} ${route.path} does not describe itself`);
    const operation = operationOf(route, route.describes);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: `${title} API`,
      version,
      description: introduction(title),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: BASE_PATHS.map((url) => ({ url })),
    tags: Object.entries(GROUPS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: { ...COMMON_HEADERS, ...LIMIT_HEADERS, ...WALLET_HEADERS },
    },
  });
}

function operationOf(route: Route, describes: RouteDescription): ZodOpenApiOperationObject {
  const { group, operationId, summary, stage, example } = describes;
  const command = exampleCommand(route, example);
  const { query } = route;
  const parameters = {
    ...(describes.params && { path: describes.params }),
    ...(query && { query: shown(query) as z.ZodObject }),
  };
  return {
    tags: [group],
    operationId,
    summary: stage ? `${summary} (${stage})` : summary,
    description: textOf(describes, command),
    ...(stage && { 'x-stability': stage }),
    ...securityOf(route),
    ...(Object.keys(parameters).length > 0 && { requestParams: parameters }),
    ...bodyOf(route, example),
    responses: responsesOf(route, describes),
    'x-codeSamples': [{ lang: 'Shell', source: command }],
  };
}

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer' },
  wallet: {
    type: 'apiKey',
    in: 'header',
    name: 'SIGN-IN-WITH-X',
    description:
      'A message that a wallet signed (EIP-4361, or Ed25519 on Solana) as base64 of JSON, anew for each request. The older ' +
      'name `X-Sign-In-With-X` is taken, too. What a 402 without a credential says is what to sign.',
  },
} as const;

/** Default: an API key, as everywhere. */
function securityOf({ access }: Route): Pick<ZodOpenApiOperationObject, 'security'> {
  if (access === 'open') return { security: [] };
  if (access === 'own-wallet') return { security: [{ wallet: [] }] };
  return isForWallets(access) ? { security: [{ apiKey: [] }, { wallet: [] }] } : {};
}

function textOf({ description, setting, stage }: RouteDescription, command: string): string {
  return [
    ...(description ? [description] : []),
    ...(stage ? [`This is ${stage}: it may change without notice.`] : []),
    ...(setting ? [`Needs ${setting} in the configuration.`] : []),
    `\`\`\`sh\n${command}\n\`\`\``,
  ].join('\n\n');
}

function bodyOf({ body }: Route, example: RouteDescription['example']) {
  if (!body) return {};
  const content = {
    ...(body.raw?.json && {
      'application/json': { schema: body.raw.json, ...(example.json && { example: example.json }) },
    }),
    ...(body.json && {
      'application/json': { schema: shown(body.json.schema), ...(example.json && { example: example.json }) },
    }),
    ...(body.multipart && { 'multipart/form-data': { schema: withFile(body.multipart) } }),
  };
  return { requestBody: { content, required: body.optional !== true } };
}

/** File parts of the form. */
function withFile({ fields, files }: MultipartSpec<unknown>): z.ZodType {
  const file = z.string().meta({ type: 'string', format: 'binary', description: 'The source.' });
  const parts = files && files.most > 1 ? z.array(file).max(files.most) : file.optional();
  const shape = fields instanceof z.ZodPipe ? fields.in : fields;
  return shape instanceof z.ZodObject ? shape.extend({ [files?.name ?? 'file']: parts }) : fields;
}

/** `required` states what is optional as a whole, not the schema. */
function shown(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
}

type Responses = ZodOpenApiOperationObject['responses'];

function responsesOf(route: Route, { answers }: RouteDescription): Responses {
  const common = headerReferences(COMMON_HEADERS);
  const limits = limitHeadersOf(route);
  const wallets = isForWallets(route.access) ? headerReferences(WALLET_HEADERS) : {};
  const responses: Record<string, NonNullable<Responses>[`${1 | 2 | 3 | 4 | 5}${string}`]> = {};
  for (const [status, answer] of Object.entries(answers)) {
    const headers = { ...common, ...limits, ...wallets, ...headersOf(answer) };
    responses[status] = { description: answer.means, headers, ...contentOf(answer) };
  }
  for (const [status, failure] of failuresOf(route)) {
    const ownAnswer = answers[status];
    const bodies = [...(ownAnswer?.bodies.flatMap(({ schema }) => schema ?? []) ?? []), ...failure.bodies];
    const [first = z.unknown()] = bodies;
    const schema = bodies.length > 1 ? z.union(bodies as [z.ZodType, ...z.ZodType[]]) : first;
    responses[String(status)] = {
      description: [ownAnswer && `- ${ownAnswer.means}`, failure.description].filter(Boolean).join('\n'),
      headers: { ...common, ...(status === 429 && { ...limits, ...(route.hidesBudget && REFUSAL_HEADERS) }) },
      content: { 'application/json': { schema } },
    };
  }
  return responses as Responses;
}

/** Every answer to a known key has them. Of the errors only 429 lists them, and the introduction says the rest. */
function limitHeadersOf({ access, readsKey, hidesBudget }: Route) {
  if (access === 'open' && !readsKey) return {};
  return headerReferences(hidesBudget ? WINDOW_HEADERS : LIMIT_HEADERS);
}

function headersOf({ headers = {} }: AnswerDescription) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } as const }]),
  );
}

const JSON_TYPE = 'application/json';

function contentOf({ bodies }: AnswerDescription) {
  if (bodies.length === 0) return {};
  const types = new Set(bodies.map(({ mediaType = JSON_TYPE }) => mediaType));
  const content = [...types].map((type) => {
    const schemas = bodies.flatMap(({ schema, mediaType = JSON_TYPE }) => (mediaType === type ? (schema ?? []) : []));
    const [first] = schemas;
    if (first === undefined) return [type, {}];
    return [type, { schema: schemas.length > 1 ? z.union(schemas) : first }];
  });
  return { content: Object.fromEntries(content) };
}

/** Example of a route as a curl command: for a POSIX shell in which FAREBOX_URL and FAREBOX_API_KEY are set, started where the repository lies. */
function exampleCommand({ method, path, access }: Route, example: Example): string {
  const place = path.replace(/\{(\w+)\}/g, (_whole, name: string) => example.params?.[name] ?? '');
  const query = example.query ? `?${new URLSearchParams(example.query)}`.replaceAll('%24', '$') : '';
  const parts = [`curl -sS "$FAREBOX_URL${place}${query}"`];
  if (method !== 'GET' && !(method === 'POST' && (example.json || example.form))) parts.push(`-X ${method}`);
  if (access === 'own-wallet') parts.push('-H "SIGN-IN-WITH-X: $FAREBOX_SIGN_IN"');
  else if (access !== 'open') parts.push('-H "Authorization: Bearer $FAREBOX_API_KEY"');
  if (example.json) {
    parts.push("-H 'Content-Type: application/json'");
    parts.push(`-d ${quoted(JSON.stringify(example.json))}`);
  }
  for (const [name, value] of Object.entries(example.form ?? {})) parts.push(`-F ${quoted(`${name}=${value}`)}`);
  if (example.output) parts.push(`-o ${example.output}`);
  return [...(example.before ?? []), parts.join(' \\\n  ')].join('\n');
}

/** In single quotes unless it has a variable. */
function quoted(text: string): string {
  return text.includes('$') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `'${text}'`;
}
