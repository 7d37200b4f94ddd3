/**
 * Writes `dist/node_modules/`: the npm packages that the built code imports, each in a few files. Node prefers them to
 * those of `node_modules/`, so a process reads about thirty files at its start instead of two thousand. Our own code is
 * not bundled, so that its paths and line numbers in errors stay the same.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { parseSync } from 'rolldown/utils';
import { ROOT } from './root.mjs';

const DIST = path.join(ROOT, 'dist');
const FOLDER = path.join(DIST, 'node_modules');
const STAMP = path.join(FOLDER, '.bundled');
/** Inputs of the result besides the importing code. */
const MADE_FROM = ['package-lock.json', 'dev/launch/bundlePackages.mjs'];

const OF_TESTS = /^(bench|test)\//;
/** Not bundled: webpack reads the first for the workflow bundle, and the second loads more of its own files. */
const LEFT = ['@temporalio/workflow', 'pdfjs-dist'];
/** Needed only to bundle workflows. They load quickly, but would be most of the bundle. */
const TOOLS = ['webpack', 'swc-loader', 'source-map-loader', '@swc/core'];
/** Thread in which the worker runs workflows. It loads mostly the same packages. */
const THREAD = '@temporalio/worker/lib/workflow/workflow-worker-thread.js';
const THREAD_AS_ASKED = './workflow-worker-thread';
const BUNDLED_THREAD = path.join(FOLDER, '.chunks/workflowThread.js');

/** Root of the repository or image, computed at run time from the location of a bundle. */
const WHERE_WE_ARE = `import { fileURLToPath as __toPath } from 'node:url';
const __root = __toPath(import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/node_modules/') + 1));`;

/** Does nothing when the imports of the compiled `files` and the lockfile are unchanged. */
export async function bundlePackages(files) {
  const entries = entriesOf(files);
  const stamp = stampOf(entries);
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return;
  rmSync(FOLDER, { recursive: true, force: true });
  const bundle = await rolldown({
    cwd: ROOT,
    platform: 'node',
    // Prefers the ES modules of the AWS client, from which unused commands are dropped.
    resolve: { mainFields: ['module', 'main'] },
    input: Object.fromEntries([
      ...[...entries.keys()].map((name) => [`${name}/index`, `farebox:${name}`]),
      ['.chunks/workflowThread', THREAD],
    ]),
    external: TOOLS,
    plugins: [entryCode(entries), filesBeside()],
    logLevel: 'silent',
  });
  await bundle.write({
    dir: FOLDER,
    format: 'esm',
    sourcemap: false,
    entryFileNames: '[name].js',
    chunkFileNames: '.chunks/[name]-[hash].js',
    comments: false,
    banner: WHERE_WE_ARE,
  });
  describePackages([...entries.keys()]);
  writeFileSync(STAMP, stamp);
}

/**
 * Names that our code uses per import, because exports of CommonJS packages must be listed. Packages of test tools are
 * omitted, but names that test tools use from other packages are included.
 */
function entriesOf(files) {
  const imports = files.flatMap(importsOf);
  const packages = new Set(imports.filter(({ file }) => !OF_TESTS.test(file)).map(({ from }) => packageOf(from)));
  const entries = new Map();
  for (const { from, names } of imports) {
    if (!packages.has(packageOf(from)) || LEFT.includes(packageOf(from))) continue;
    entries.set(from, new Set([...(entries.get(from) ?? []), ...names]));
  }
  return new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function importsOf(file) {
  const { module } = parseSync(file, readFileSync(path.join(DIST, file), 'utf8'));
  return module.staticImports
    .filter(({ moduleRequest: { value } }) => !value.startsWith('.') && !isBuiltin(value))
    .map(({ moduleRequest: { value }, entries }) => ({
      file,
      from: value,
      names: entries.map(({ importName: { name, kind } }) => name ?? kind),
    }));
}

function packageOf(name) {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

function codeOf(name, names) {
  const from = `from ${JSON.stringify(name)};`;
  const plain = [...names].filter((each) => each !== 'Default' && each !== 'NamespaceObject').sort();
  return [
    `export { ${plain.join(', ')} } ${from}`,
    ...(names.has('NamespaceObject') ? [`export * ${from}`] : []),
    ...(names.has('Default') ? [`export { default } ${from}`] : []),
  ].join('\n');
}

function stampOf(entries) {
  const hash = createHash('sha256');
  for (const file of MADE_FROM) hash.update(readFileSync(path.join(ROOT, file)));
  for (const [name, names] of entries) hash.update(codeOf(name, names));
  return hash.digest('hex');
}

function entryCode(entries) {
  const prefix = 'farebox:';
  const suffix = '.entry.mjs';
  return {
    name: 'entries',
    resolveId: {
      filter: { id: /^farebox:/ },
      handler: (id) => path.join(ROOT, `${id.slice(prefix.length).replaceAll('/', '__')}${suffix}`),
    },
    load: {
      filter: { id: /\.entry\.mjs$/ },
      handler(id) {
        const name = path.relative(ROOT, id).slice(0, -suffix.length).replaceAll('__', '/');
        return codeOf(name, entries.get(name));
      },
    },
  };
}

function describePackages(names) {
  for (const name of new Set(names.map(packageOf))) {
    const paths = names.filter((each) => packageOf(each) === name).map((each) => each.slice(name.length));
    const exports = Object.fromEntries(paths.map((each) => [`.${each}`, `.${each}/index.js`]));
    writeFileSync(path.join(FOLDER, name, 'package.json'), `${JSON.stringify({ type: 'module', exports })}\n`);
  }
}

/** Some packages load files by their own path, such as Temporal's native core. Keeps these paths valid. */
function filesBeside() {
  return {
    name: 'files beside',
    transform: {
      filter: { id: /node_modules/, code: /\b__(dirname|filename)\b|\brequire\.resolve\('\./ },
      handler(code, id) {
        if (/^(import|export)\b/m.test(code)) return undefined;
        const folder = path.dirname(id);
        const moved = code.replaceAll(/\brequire\.resolve\('(\..+?)'\)/g, (_, name) =>
          placeOf(name === THREAD_AS_ASKED ? BUNDLED_THREAD : path.join(folder, name)),
        );
        return `const __filename = ${placeOf(id)}, __dirname = ${placeOf(folder)};\n${moved}`;
      },
    },
  };
}

function placeOf(file) {
  return `require('node:path').join(__root, ${JSON.stringify(path.relative(ROOT, file))})`;
}
