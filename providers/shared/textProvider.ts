/**
 * What every provider of text speaks: an adapter turns our words into its service's and back. It is stateless, calls the
 * service once, never retries, and throws UpstreamFailure for whatever is no answer.
 */
import type { ChatEvent, ChatRequest, Completion } from '../../domain/text/chat.ts';

export interface TextCallContext {
  /** Aborted when nobody waits any more; the connection ends with it. */
  signal: AbortSignal;
}

export interface EmbeddingRequest {
  upstreamModel: string;
  inputs: readonly string[];
  dimensions?: number;
  endUser: string;
}

export interface Embeddings {
  /** In the order of the inputs. */
  vectors: Float32Array[];
  /** Undefined: the service did not say, and we count ourselves. */
  promptTokens: number | undefined;
}

/** What one call of `embed` may ask for. */
export interface EmbeddingLimits {
  maxDimensions: number;
  /** Inputs times dimensions. */
  maxNumbers: number;
  defaultDimensions: number;
}

export interface ChatStream {
  /** What came with one piece of the network, in order; the adapter reads on only when the next is asked for. */
  events: AsyncIterable<ChatEvent[]>;
  /** The service's own id of the reply, for the log, as soon as it is known. */
  upstreamId?: string | undefined;
}

export interface TextProvider {
  complete?(request: ChatRequest, context: TextCallContext): Promise<Completion>;
  /** Resolves when the service has begun to answer: a failure before it can still be told with a status. */
  stream?(request: ChatRequest, context: TextCallContext): Promise<ChatStream>;
  /** False: in the form in which it is sent, the request turns reasoning off for certain. Left out: never false. */
  mayReason?(request: ChatRequest): boolean;
  /** Left out: the service itself refuses what it does not take. */
  embeddingLimits?: EmbeddingLimits;
  embed?(request: EmbeddingRequest, context: TextCallContext): Promise<Embeddings>;
  close(): Promise<void>;
}
