/** Validates responses against the committed API description with an independent validator. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ROOT } from './spawn.ts';

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters?: { in: 'path' | 'query'; name: string; required?: boolean; schema: object }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema?: object }>; headers?: object }>;
  security?: object[];
  'x-stability'?: string;
  'x-codeSamples': { source: string }[];
}

export interface ApiDescription {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

export const DESCRIPTION_FILE = path.join(ROOT, 'openapi.json');

export function readDescription(): ApiDescription {
  return JSON.parse(readFileSync(DESCRIPTION_FILE, 'utf8')) as ApiDescription;
}

export interface DescribedOperation {
  method: string;
  path: string;
  operation: Operation;
}

export function operationsOf({ paths }: ApiDescription): DescribedOperation[] {
  return Object.entries(paths).flatMap(([place, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path: place, operation })),
  );
}

export interface SeenAnswer {
  status: number;
  contentType: string | null;
  body: string;
}

export interface ApiContract {
  /** Difference between a response and the description of its operation. Undefined if there is none. */
  faultOf(operation: DescribedOperation, answer: SeenAnswer): string | undefined;
  /** Whether a value fits a schema of the description. */
  fits(schema: object, value: unknown): boolean;
}

const NAME = 'openapi.json';

export function openContract(description: ApiDescription): ApiContract {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addFormat('binary', true);
  ajv.addSchema(description, NAME);
  const known = new Map<string, ValidateFunction>();
  const validator = (pointer: string): ValidateFunction => {
    const validate = known.get(pointer) ?? ajv.compile({ $ref: `${NAME}#${pointer}` });
    known.set(pointer, validate);
    return validate;
  };
  const loose = new WeakMap<object, ValidateFunction>();
  return {
    faultOf({ method, path: place, operation }, { status, contentType, body }) {
      const described = operation.responses[String(status)];
      if (!described) return `status ${status} is not described: ${body.slice(0, 200)}`;
      const { content } = described;
      if (!content) return body === '' || status === 416 ? undefined : `a body where none is described`;
      const mediaType = (contentType ?? '').split(';')[0] ?? '';
      const entry = Object.keys(content).find((type) => matches(type, mediaType));
      if (entry === undefined) return `status ${status} with ${mediaType} is not described`;
      if (!content[entry]?.schema) return undefined;
      const steps = ['paths', place, method, 'responses', String(status), 'content', entry, 'schema'];
      const validate = validator(steps.map((step) => `/${escaped(step)}`).join(''));
      if (validate(JSON.parse(body))) return undefined;
      return `status ${status}: ${ajv.errorsText(validate.errors)}: ${body.slice(0, 300)}`;
    },
    fits(schema, value) {
      const validate = loose.get(schema) ?? ajv.compile({ ...schema, components: description.components });
      loose.set(schema, validate);
      return validate(value);
    },
  };
}

function matches(described: string, mediaType: string): boolean {
  return described === mediaType || (described.endsWith('/*') && mediaType.startsWith(described.slice(0, -1)));
}

/** Escapes a step of a JSON pointer in a URI fragment. */
function escaped(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}
