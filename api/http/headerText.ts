/**
 * Text that a header can carry. Configured model names can be in any script, and an invalid header would end the
 * answer.
 */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/gu, '?');
}
