/**
 * Joins trimmed, non-empty lines. Runs in linear time, unlike a regular expression for a line break with surrounding
 * blanks, which is quadratic on a megabyte of blanks.
 */
export function joinLines(text: string, separator: string, lineBreak: string | RegExp = '\n'): string {
  return text
    .split(lineBreak)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(separator);
}
