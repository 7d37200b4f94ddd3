/** What a stub of OpenAI's API can be told to answer, one script per request. */

export type Frame = Record<string, unknown> | string;

/** Of the first token: each alternative with its probability. */
type Alternatives = Readonly<Record<string, number>>;

export interface ChatScript {
  /** Before the head of the answer. */
  delayMs?: number;
  status?: number;
  headers?: Record<string, string>;
  /** Sent as it is (text or bytes) or as JSON, in place of a completion. */
  body?: unknown;
  /** The text of the answer, a token per piece. */
  tokens?: readonly string[];
  /** In place of `tokens`: the likeliest is the text, and as many as were asked for are listed with their logarithms. */
  alternatives?: Alternatives | ((prompt: string) => Alternatives);
  reasoning?: readonly string[];
  /** Which field the reasoning has; `reasoning_content` by default. */
  reasoningField?: 'reasoning' | 'reasoning_content';
  toolCalls?: readonly { id?: string; name: string; arguments: string }[];
  /** No `index` in the deltas of tool calls. */
  withoutCallIndex?: boolean;
  finishReason?: string | null;
  /** `undefined`: counted; null: none. */
  usage?: Record<string, unknown> | null;
  /** Between two frames. */
  pauseMs?: number;
  /** In place of the frames that the tokens make: objects as JSON, strings as they are, without `data:`. */
  frames?: readonly Frame[];
  /** Written as they are, one write each, in place of everything. */
  raw?: readonly (string | Buffer)[];
  /** The connection is cut after so many frames. */
  cutAfterFrames?: number;
  /** The stream ends properly after so many frames, without `[DONE]`. */
  endAfterFrames?: number;
  withoutDone?: boolean;
  /** Silence for ever: before the head, or after so many frames. */
  hang?: 'head' | number;
  /** The connection breaks before (`unread`) or after (`accepted`) the request was taken in, without an answer. */
  lost?: 'unread' | 'accepted';
  /** The frames in pieces of so many bytes. */
  pieceBytes?: number;
  /** CR LF, and no space after `data:`. */
  oddFraming?: boolean;
}

/** How a text is cut into tokens here: words with the space before them. */
export function toTokens(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}
