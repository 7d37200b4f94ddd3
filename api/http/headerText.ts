/** What a header can carry: the configuration names models in any script, and one that cannot be written ends the answer. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/gu, '?');
}
