/** Reasoning that a model writes into its answer between `<think>` and `</think>`, taken out as it comes. */
const OPEN = '<think>';
const CLOSE = '</think>';

export interface ThinkingFilter {
  /** What of the text so far is surely no reasoning, beyond what was given back before. */
  push(text: string): string;
  /** What was held back because it could have become a mark. */
  end(): string;
}

export function createThinkingFilter(): ThinkingFilter {
  let rest = '';
  let thinking = false;
  let begun = false;

  function visible(text: string): string {
    // The break between the reasoning and the answer belongs to neither.
    const shown = begun ? text : text.trimStart();
    if (shown !== '') begun = true;
    return shown;
  }

  /** Up to the next mark, or to what could become one; false: no more to be had for now. */
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

/** How many of the last letters could be the beginning of the mark. */
function overlap(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
