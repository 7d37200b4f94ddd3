/** Facts about a source file that the rules need, read from its syntax tree. */

import type * as ESTree from 'oxc-parser';
import { parseSync, Visitor, type VisitorObject } from 'oxc-parser';

export interface ImportFact {
  line: number;
  /** Undefined if the module is computed at run time. */
  specifier: string | undefined;
  /** Erased by the compiler, so that nothing is loaded. */
  typeOnly: boolean;
  /** Imported names; `*` for the whole module or a default import. */
  names: string[];
}

interface FunctionFact {
  line: number;
  lines: number;
  parameters: number;
  /** Callback of `describe(…)`, whose length is not limited. */
  testSuite: boolean;
  /** Argument of a call, which counts as a part of its function. */
  inline: boolean;
}

/** Use of a restricted name: `fetch`, `process.env`, `Date.now`, `http.request` … */
interface UseFact {
  line: number;
  what: string;
}

export interface FileFacts {
  path: string;
  lines: number;
  /** Lines with a comment. */
  commentLines: number;
  /** Names of the interfaces, type aliases and classes of the module. */
  types: string[];
  imports: ImportFact[];
  functions: FunctionFact[];
  uses: UseFact[];
}

type FunctionNode = ESTree.Function | ESTree.ArrowFunctionExpression;

const HTTP_MODULES = new Set(['http', 'node:http', 'https', 'node:https', 'http2', 'node:http2']);

/** Throws when the file does not parse. */
export function readFacts(path: string, source: string): FileFacts {
  const parsed = parseSync(path, source);
  if (parsed.errors.length > 0) throw new Error(`${path} does not parse: ${parsed.errors[0]?.message}`);
  const lineOf = lineFinder(source);
  const facts: FileFacts = {
    path,
    lines: lineOf(source.trimEnd().length),
    commentLines: countCommentLines(parsed.comments, lineOf),
    types: parsed.program.body.flatMap(declaredType),
    imports: [],
    functions: [],
    uses: [],
  };
  const add: Collector = {
    import: (node, fact) => void facts.imports.push({ line: lineOf(node.start), ...fact }),
    use: (node, what) => void facts.uses.push({ line: lineOf(node.start), what }),
    function: (node, place) => {
      const line = lineOf(node.start);
      const lines = lineOf(node.end) - line + 1;
      facts.functions.push({ line, lines, parameters: parameterCount(node), ...place });
    },
  };
  new Visitor({ ...importVisitor(add), ...useVisitor(add, parsed.program), ...functionVisitor(add) }).visit(
    parsed.program,
  );
  return facts;
}

interface Collector {
  import(node: ESTree.Span, fact: Omit<ImportFact, 'line'>): void;
  use(node: ESTree.Span, what: string): void;
  function(node: FunctionNode, place: Pick<FunctionFact, 'testSuite' | 'inline'>): void;
}

function importVisitor(add: Collector): VisitorObject {
  return {
    ImportDeclaration: (node) => add.import(node, readImport(node)),
    ExportNamedDeclaration(node) {
      if (node.specifiers.some((each) => nameOf(each.exported) === 'default')) add.use(node, 'export default');
      if (node.source === null) return;
      const names = node.specifiers.map((each) => nameOf(each.local));
      add.import(node, { specifier: node.source.value, typeOnly: node.exportKind === 'type', names });
    },
    ExportAllDeclaration(node) {
      add.use(node, 'export *');
      add.import(node, { specifier: node.source.value, typeOnly: node.exportKind === 'type', names: ['*'] });
    },
    ImportExpression(node) {
      add.import(node, { specifier: literalText(node.source), typeOnly: false, names: ['*'] });
    },
    TSImportType: (node) => add.import(node, { specifier: node.source.value, typeOnly: true, names: [] }),
  };
}

function useVisitor(add: Collector, program: ESTree.Program): VisitorObject {
  const httpNames = namesOfHttp(program);
  return {
    Program(node) {
      for (const each of node.body) {
        const declared = each.type === 'ExportNamedDeclaration' ? each.declaration : each;
        if (declared?.type === 'VariableDeclaration' && declared.kind !== 'const') add.use(declared, 'let of a module');
        for (const state of statesOf(declared)) add.use(state, 'state of a module');
      }
    },
    ExportDefaultDeclaration: (node) => add.use(node, 'export default'),
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.arguments.length === 0) add.use(node, `new ${node.callee.name}()`);
    },
    MemberExpression(node) {
      const property = memberName(node);
      if (property === undefined || node.object.type !== 'Identifier') return;
      add.use(node, `${httpNames.has(node.object.name) ? 'http' : node.object.name}.${property}`);
    },
    TSAnyKeyword: (node) => add.use(node, 'any'),
    TSNonNullExpression: (node) => add.use(node, 'non-null !'),
  };
}

/** Constructors whose objects are constants if they get their content. */
const TABLES = new Set(['Map', 'Set', 'RegExp', 'Error', 'FareboxError']);
const CONSTANTS = new Set(['TextDecoder', 'TextEncoder', 'MessageChannel']);
/** First words of functions that create mutable objects. */
const MAKERS = /^(create|open|keep|watch|start)[A-Z]/;

/** Mutable parts of a declaration: objects created empty or by a maker, and static members of classes. */
function statesOf(declared: ESTree.Node | null): ESTree.Span[] {
  if (declared?.type === 'ClassDeclaration') {
    return declared.body.body.filter(
      (member) => member.type === 'PropertyDefinition' && member.static && !member.readonly,
    );
  }
  if (declared?.type !== 'VariableDeclaration') return [];
  return declared.declarations.filter(({ id, init }) => {
    const annotation = id.type === 'Identifier' ? id.typeAnnotation?.typeAnnotation : undefined;
    return init !== null && !isReadonly(annotation) && isState(init);
  });
}

function isState(made: ESTree.Expression): boolean {
  switch (made.type) {
    case 'NewExpression': {
      const name = made.callee.type === 'Identifier' ? made.callee.name : '';
      return !CONSTANTS.has(name) && (made.arguments.length === 0 || !TABLES.has(name));
    }
    case 'CallExpression':
      return made.callee.type === 'Identifier' && MAKERS.test(made.callee.name);
    case 'ArrayExpression':
      return made.elements.length === 0;
    case 'ObjectExpression':
      return made.properties.length === 0;
    default:
      return false;
  }
}

/** Accepts `ReadonlyMap<…>`, `ReadonlySet<…>`, `Readonly<…>`, `readonly T[]`. */
function isReadonly(type: ESTree.TSType | undefined): boolean {
  if (type?.type === 'TSTypeOperator') return type.operator === 'readonly';
  if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return false;
  return type.typeName.name.startsWith('Readonly');
}

/** Local names of `node:http` and similar modules, if imported as a whole. */
function namesOfHttp(program: ESTree.Program): Set<string> {
  const imports = program.body.filter((each) => each.type === 'ImportDeclaration');
  const http = imports.filter((each) => HTTP_MODULES.has(each.source.value));
  const whole = http.flatMap((each) => each.specifiers.filter((inner) => inner.type !== 'ImportSpecifier'));
  return new Set(whole.map((each) => each.local.name));
}

function functionVisitor(add: Collector): VisitorObject {
  const suites = new Set<unknown>();
  const inline = new Set<unknown>();
  const addExpression = (node: FunctionNode) =>
    add.function(node, { testSuite: suites.has(node), inline: inline.has(node) });
  return {
    CallExpression(node) {
      if (node.callee.type === 'Identifier') add.use(node, `${node.callee.name}()`);
      for (const argument of node.arguments) {
        inline.add(argument);
        if (opensSuite(node.callee)) suites.add(argument);
      }
    },
    FunctionDeclaration: (node) => add.function(node, { testSuite: false, inline: false }),
    FunctionExpression: addExpression,
    ArrowFunctionExpression: addExpression,
  };
}

function declaredType(node: ESTree.Program['body'][number]): string[] {
  const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
  switch (declared?.type) {
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'ClassDeclaration':
      return declared.id === null ? [] : [declared.id.name];
    default:
      return [];
  }
}

function countCommentLines(comments: readonly ESTree.Span[], lineOf: (offset: number) => number): number {
  const lines = new Set<number>();
  for (const { start, end } of comments) for (let line = lineOf(start); line <= lineOf(end); line += 1) lines.add(line);
  return lines.size;
}

/** `describe(…)`, `describe.skipIf(…)(…)`, `describe.each(…)(…)`. */
function opensSuite(callee: ESTree.Expression | ESTree.Super): boolean {
  const called = callee.type === 'CallExpression' ? callee.callee : callee;
  const named = called.type === 'MemberExpression' ? called.object : called;
  return named.type === 'Identifier' && named.name === 'describe';
}

function readImport(node: ESTree.ImportDeclaration): Omit<ImportFact, 'line'> {
  const kept = node.specifiers.filter((each) => each.type !== 'ImportSpecifier' || each.importKind !== 'type');
  const allTypes = node.specifiers.length > 0 && kept.length === 0;
  return {
    specifier: node.source.value,
    typeOnly: node.importKind === 'type' || allTypes,
    names: kept.map((each) => (each.type === 'ImportSpecifier' ? nameOf(each.imported) : '*')),
  };
}

function parameterCount(node: FunctionNode): number {
  const isThis = (each: ESTree.ParamPattern | undefined) => each?.type === 'Identifier' && each.name === 'this';
  return node.params.filter((each) => !isThis(each)).length;
}

function nameOf(node: ESTree.ModuleExportName): string {
  return node.type === 'Literal' ? node.value : node.name;
}

function memberName(node: ESTree.MemberExpression): string | undefined {
  if (!node.computed) return node.property.type === 'Identifier' ? node.property.name : undefined;
  return literalText(node.property);
}

function literalText(node: ESTree.Node): string | undefined {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}

/** Finds the line of an offset, from 1. */
export function lineFinder(source: string): (offset: number) => number {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
