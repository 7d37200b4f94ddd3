/** Converts embedding requests and replies; vectors are returned in the order of the inputs. */
import { endianness } from 'node:os';
import { createTurnLimit } from '../../infra/turnLimit.ts';
import { count, type Fields, garbageFailure, isFields } from '../shared/textFailures.ts';
import type { EmbeddingRequest, Embeddings } from '../shared/textProvider.ts';
import type { Dialect } from './dialects.ts';
import { errorIn, failureOfError } from './errorReply.ts';

export function toEmbeddingBody(request: EmbeddingRequest, dialect: Dialect): Fields {
  return {
    model: request.upstreamModel,
    input: request.inputs,
    // A third of the size of JSON numbers. A service without base64 replies with numbers.
    encoding_format: 'base64',
    ...(request.dimensions === undefined ? {} : { dimensions: request.dimensions }),
    // OpenAI takes no other field here.
    ...(dialect.openAiFields ? { user: request.endUser } : { [dialect.userField]: request.endUser }),
  };
}

/** Yields to the event loop: 2,048 vectors of 3,072 numbers take up to a fifth of a second (bench `stalls`). */
export async function readEmbeddings(body: unknown, request: EmbeddingRequest): Promise<Embeddings> {
  const error = errorIn(body);
  if (error !== undefined) throw failureOfError(error);
  if (!isFields(body) || !Array.isArray(body.data)) throw garbageFailure('no embeddings');
  const wanted = request.inputs.length;
  if (body.data.length !== wanted) throw garbageFailure(`${body.data.length} embeddings for ${wanted} inputs`);
  const endTurn = createTurnLimit();
  const vectors = new Array<Float32Array | undefined>(wanted);
  for (const [position, entry] of body.data.entries()) {
    const index = isFields(entry) ? (count(entry.index) ?? position) : wanted;
    if (!isFields(entry) || index >= wanted || vectors[index] !== undefined)
      throw garbageFailure('embeddings out of place');
    vectors[index] = toVector(entry.embedding);
    const next = endTurn();
    if (next) await next;
  }
  const whole = vectors.filter((vector) => vector !== undefined);
  const length = whole[0]?.length;
  if (whole.length !== wanted || whole.some((vector) => vector.length !== length))
    throw garbageFailure('uneven embeddings');
  return { vectors: whole, promptTokens: isFields(body.usage) ? count(body.usage.prompt_tokens) : undefined };
}

function toVector(embedding: unknown): Float32Array {
  const vector = typeof embedding === 'string' ? fromBase64(embedding) : fromNumbers(embedding);
  if (vector.length === 0 || !vector.every(Number.isFinite)) throw garbageFailure('an embedding that is no vector');
  return vector;
}

/** The bytes are little-endian on every machine. */
function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length % 4 !== 0) throw garbageFailure('an embedding that is no vector');
  if (endianness() === 'BE') bytes.swap32();
  const vector = new Float32Array(bytes.length / 4);
  bytes.copy(new Uint8Array(vector.buffer));
  return vector;
}

function fromNumbers(numbers: unknown): Float32Array {
  if (!Array.isArray(numbers) || !numbers.every((each) => typeof each === 'number')) {
    throw garbageFailure('an embedding that is no vector');
  }
  return Float32Array.from(numbers);
}
