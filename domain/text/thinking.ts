/** Removes reasoning between `<think>` and `</think>` from a streamed answer. */
const OPEN = '<think>';
const CLOSE = '</think>';

export interface ThinkingFilter {
  /** Returns further text that is certainly not reasoning. */
  push(text: string): string;
  /** Returns text that was held back because it could become a mark. */
  end(): string;
}

export function createThinkingFilter(): ThinkingFilter {
  let rest = '';
  let thinking = false;
  let begun = false;

  function visible(text: string): string {
    // Drops the white space between the reasoning and the answer.
    const shown = begun ? text : text.trimStart();
    if (shown !== '') begun = true;
    return shown;
  }

  /** Reads up to the next mark, or the possible beginning of one; false: more text is needed. */
  function step(take: (text: string) => void): boolean {
    const mark = thinking ? CLOSE : OPEN;
    const at = rest.indexOf(mark);
    const end = at >= 0 ? at : rest.length - overlap(rest, mark);
    if (!thinking) take(visible(rest.slice(0, end)));
    rest = rest.slice(at >= 0 ? at + mark.length : end);
    if (at < 0) return false;
    thinking = !thinking;
    begun = begun && thinking;
    return true;
  }

  return {
    push(text) {
      rest += text;
      let shown = '';
      while (
        step((more) => {
          shown += more;
        })
      );
      return shown;
    },
    end() {
      const shown = thinking ? '' : visible(rest);
      rest = '';
      return shown;
    },
  };
}

export function withoutThinking(text: string): string {
  const filter = createThinkingFilter();
  return filter.push(text) + filter.end();
}

/** Length of the text's longest end that could begin the mark. */
function overlap(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
