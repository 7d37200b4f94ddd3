/**
 * One line of several: each is trimmed, those without a letter are left out. Linear, as a regular expression for a line break
 * and the blanks around it is not: of a megabyte of blanks it would try every part.
 */
export function joinLines(text: string, separator: string, lineBreak: string | RegExp = '\n'): string {
  return text
    .split(lineBreak)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(separator);
}
