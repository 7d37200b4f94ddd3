/** Every optimisation of the register (docs/performance.md) names its bench in its code. */
import { describe, expect, it } from 'vitest';
import { readSource } from './sources.ts';

interface Optimisation {
  name: string;
  files: string[];
  benches: string[];
}

function optimisations(): Optimisation[] {
  const rows = readSource('docs/performance.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Optimisation') && !line.startsWith('| --'));
  return rows.map((row) => {
    const [name = '', file = '', , bench = ''] = row.slice(2).split(' | ');
    return {
      name: name.trim(),
      files: [...file.matchAll(/`([\w/.-]+\.(?:ts|mjs))`/g)].map(([, path = '']) => path),
      benches: [...bench.matchAll(/`([\w-]+)`/g)].map(([, each = '']) => each),
    };
  });
}

describe('the register of optimisations', () => {
  const named = optimisations().filter(({ files, benches }) => files.length > 0 && benches.length > 0);

  it('has rows with files and benches', () => {
    expect(named.length).toBeGreaterThan(50);
  });

  it.each(named)('$name: the code names one of its benches', ({ files, benches }) => {
    const names = benches.map((bench) => `\`${bench}\``);
    const saying = files.filter((file) => {
      const comments = readSource(file)
        .split('\n')
        .filter((line) => /^\s*(?:\/\*\*|\*|\/\/)/.test(line));
      return names.some((bench) => comments.some((line) => line.includes(bench)));
    });
    expect(saying).not.toEqual([]);
  });
});
