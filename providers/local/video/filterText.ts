/** Values written into ffmpeg's filter language, where a colon, a comma or a bracket would end them. */

/** A value of an option: escaped once for the option list and once for the graph. */
export function optionValue(value: string): string {
  return value.replaceAll(/[\\':]/g, '\\$&').replaceAll(/[\\'[\],;]/g, '\\$&');
}

/** A number without exponent and without digits that no pixel shows. */
function decimal(value: number): string {
  const text = value.toFixed(4).replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}

/**
 * An expression that has `values[i]` where the variable is i, the first value before and the last one after: a tree of
 * comparisons, as deep as the logarithm of their number. Runs of one value are one leaf.
 */
export function tableExpression(values: readonly number[], variable: string): string {
  const steps: { from: number; value: string }[] = [];
  for (const [from, number] of values.entries()) {
    const value = decimal(number);
    if (steps.at(-1)?.value !== value) steps.push({ from, value });
  }
  const tree = (start: number, end: number): string => {
    if (end - start <= 1) return steps[start]?.value ?? '0';
    const middle = (start + end) >> 1;
    return `if(lt(${variable},${steps[middle]?.from ?? 0}),${tree(start, middle)},${tree(middle, end)})`;
  };
  return tree(0, steps.length);
}
