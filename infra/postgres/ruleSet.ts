/** Rules of the ledger over the rows of one query. */
interface Rule {
  name: string;
  /** SQL condition; null is not broken. */
  broken: string;
}

export interface RuleSet {
  /** Columns of a violating row that are shown. */
  columns: string;
  from: string;
  rules: readonly Rule[];
  /** SQL condition of rows that are returned although they break no rule. */
  also?: string;
}

/** Selects the rows of a set that break a rule, with the indexes of the rules. */
export function ruleStatement({ columns, from, rules, also }: RuleSet): string {
  const cases = rules.map(({ broken }, index) => `case when ${broken} then ${index} end`);
  const conditions = [...rules.map(({ broken }) => `(${broken})`), ...(also ? [also] : [])];
  return `select ${columns}, array_remove(array[${cases.join(', ')}], null) as broken ${from}
    where ${conditions.join('\n or ')}`;
}
