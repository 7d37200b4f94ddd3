/**
 * Interface of text providers: an adapter translates requests and replies. It is stateless, calls the service once,
 * never retries, and throws UpstreamFailure if there is no answer.
 */
import type { ChatEvent, ChatRequest, Completion } from '../../domain/text/chat.ts';

export interface TextCallContext {
  /** Aborted when the client leaves; it ends the connection. */
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
  /** Undefined: not reported, so Farebox counts. */
  promptTokens: number | undefined;
}

/** Limits of one `embed` call. */
export interface EmbeddingLimits {
  maxDimensions: number;
  /** Inputs times dimensions. */
  maxNumbers: number;
  defaultDimensions: number;
}

export interface ChatStream {
  /** Events of one network piece per batch, in order. The adapter reads only when the next is requested. */
  events: AsyncIterable<ChatEvent[]>;
  /** The service's id of the reply, for traces, once known. */
  upstreamId?: string | undefined;
  /** Model that answered, as the service names it, once known. */
  upstreamModel?: string | undefined;
}

export interface TextProvider {
  complete?(request: ChatRequest, context: TextCallContext): Promise<Completion>;
  /** Resolves when the reply starts: an earlier failure can still become an HTTP status. */
  stream?(request: ChatRequest, context: TextCallContext): Promise<ChatStream>;
  /** False: the request as sent certainly turns reasoning off. Absent: never false. */
  mayReason?(request: ChatRequest): boolean;
  /** Absent: the service itself refuses excess values. */
  embeddingLimits?: EmbeddingLimits;
  embed?(request: EmbeddingRequest, context: TextCallContext): Promise<Embeddings>;
  close(): Promise<void>;
}
