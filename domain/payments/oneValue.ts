/** JSON that means the same to every reader: no key twice in an object, and not nested without end. */

/** Throws SyntaxError; for short texts. */
export function readOneValue(text: string, mostDepth: number): unknown {
  const punctuation = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '');
  if (depthOf(punctuation) > mostDepth) throw new SyntaxError('nested too deep');
  const value: unknown = JSON.parse(text);
  // In valid JSON every colon outside a text follows a key; a key that came twice is there once.
  if (countKeys(value) !== punctuation.split(':').length - 1) throw new SyntaxError('a key came twice');
  return value;
}

function depthOf(punctuation: string): number {
  let depth = 0;
  let deepest = 0;
  for (const sign of punctuation) {
    if (sign === '{' || sign === '[') depth += 1;
    else if (sign === '}' || sign === ']') depth -= 1;
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member: unknown) => sum + countKeys(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}
