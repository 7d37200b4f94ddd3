/** The body that a route's row announces, in the order: kind, size, form, model, schema. */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import type { BodySpec, UploadedFile } from '../route.ts';
import { checkModel, validate } from '../validate.ts';
import { bodyKind } from './contentType.ts';
import { readJson } from './readJson.ts';
import { readMultipart } from './readMultipart.ts';

export interface ReadBody {
  body: unknown;
  file: UploadedFile | undefined;
}

export async function readBody(
  request: IncomingMessage,
  spec: BodySpec<unknown>,
  createFolder: () => Promise<string>,
): Promise<ReadBody> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw wrongType("'Content-Encoding' is not supported");
  }
  const announced = bodyKind(request.headers['content-type']);
  if (announced.kind === 'json' && spec.json) {
    const body = await readJson(request, spec.json.maxBytes);
    return { body: check(spec, spec.json.schema, body), file: undefined };
  }
  if (announced.kind === 'multipart' && spec.multipart) {
    if (announced.boundary === undefined) {
      throw new FareboxError({
        code: 'invalid_request',
        message: 'Invalid multipart request: no valid boundary in the Content-Type.',
      });
    }
    const { fields, file } = await readMultipart(request, {
      boundary: announced.boundary,
      maxFileBytes: spec.multipart.maxFileBytes,
      createFolder,
    });
    return { body: check(spec, spec.multipart.fields, fields), file };
  }
  throw wrongType(`'Content-Type' must be '${spec.json ? 'application/json' : 'multipart/form-data'}'`);
}

function check(spec: BodySpec<unknown>, schema: Parameters<typeof validate>[0], body: unknown): unknown {
  if (spec.needsModel) checkModel(body);
  return validate(schema, body);
}

function wrongType(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_content_type', message });
}
