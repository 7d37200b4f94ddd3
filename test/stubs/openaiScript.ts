/** Script of one response of the OpenAI stub. */

export type Frame = Record<string, unknown> | string;

/** Probability of each alternative of the first token. */
type Alternatives = Readonly<Record<string, number>>;

export interface ChatScript {
  /** Delay before the response headers. */
  delayMs?: number;
  /** The same, until this is over. */
  delay?: Promise<unknown>;
  status?: number;
  headers?: Record<string, string>;
  /** Replaces the completion. Text and bytes are sent as they are, other values as JSON. */
  body?: unknown;
  /** Text of the answer, one token per piece. */
  tokens?: readonly string[];
  /** Replaces `tokens`. The most probable is the text. As many as requested are listed with their logarithms. */
  alternatives?: Alternatives | ((prompt: string) => Alternatives);
  reasoning?: readonly string[];
  /** Field of the reasoning. Default: `reasoning_content`. */
  reasoningField?: 'reasoning' | 'reasoning_content';
  toolCalls?: readonly { id?: string; name: string; arguments: string }[];
  /** Omits `index` in the deltas of tool calls. */
  withoutCallIndex?: boolean;
  finishReason?: string | null;
  /** Undefined counts tokens, null omits the usage. */
  usage?: Record<string, unknown> | null;
  /** Pause between frames. */
  pauseMs?: number;
  /** After each frame, with the number of tokens sent so far. */
  pause?: (sentTokens: number) => Promise<unknown>;
  /** Replaces the frames of the tokens: objects as JSON, strings as they are, without `data:`. */
  frames?: readonly Frame[];
  /** Replaces everything, with one write per piece. */
  raw?: readonly (string | Buffer)[];
  /** Cuts the connection after so many frames. */
  cutAfterFrames?: number;
  /** Ends the stream properly after so many frames, without `[DONE]`. */
  endAfterFrames?: number;
  withoutDone?: boolean;
  /** Stops sending before the headers or after so many frames. */
  hang?: 'head' | number;
  /** Cuts the connection before (`unread`) or after (`accepted`) it has read the request, without a response. */
  lost?: 'unread' | 'accepted';
  /** Splits the frames into pieces of so many bytes. */
  pieceBytes?: number;
  /** Uses CR LF, and no space after `data:`. */
  oddFraming?: boolean;
}

/** Splits a text into tokens: words with the space before them. */
export function toTokens(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}
