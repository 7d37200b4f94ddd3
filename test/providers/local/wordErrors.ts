/** Word error rate: inserted, deleted and replaced words per word of the reference. */
export function wordErrorRate(said: string, heard: string): number {
  const [reference, guess] = [wordsOf(said), wordsOf(heard)];
  let row = Array.from({ length: guess.length + 1 }, (_, index) => index);
  for (const [done, word] of reference.entries()) {
    const next = [done + 1];
    for (const [index, other] of guess.entries()) {
      const changed = (row[index] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) / reference.length;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z']+/g) ?? [];
}
