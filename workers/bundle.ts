/** Builds the workflow bundle once, so that a worker starts without a bundler (part of `npm run build`). */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** The bundle lies beside the built worker. */
export function bundlePath(): string {
  return join(dirname(fileURLToPath(import.meta.url)), 'workflows.bundle.js');
}

/** Options of every workflow bundle, also those of tests: the workflows and their interceptors. */
export function workflowModules() {
  const workflows = join(dirname(fileURLToPath(import.meta.url)), '..', 'workflows');
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const workflowsPath = join(workflows, `index.${extension}`);
  const interceptorsPath = join(workflows, `tracing.${extension}`);
  return {
    workflowsPath,
    workflowInterceptorModules: [interceptorsPath],
    // Modules are evaluated once per worker, not once per execution. None keeps state between calls (the architecture
    // test forbids variables of modules): state is in the story of an execution, or in the SDK's activator. Bench
    // `jobs`.
    preloadModules: ['@temporalio/workflow', workflowsPath, interceptorsPath],
  };
}

/** Bundles the workflows that lie beside this folder and writes them to `target`. */
export async function writeBundle(target = bundlePath()): Promise<void> {
  const { code } = await bundleWorkflowCode({ ...workflowModules(), logger: new DefaultLogger('WARN') });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, withoutSources(code));
}

const SOURCE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

/** Stack traces need only the map; the sources are half of the bundle (bench `waiting`). */
function withoutSources(code: string): string {
  const at = code.lastIndexOf(SOURCE_MAP);
  if (at < 0) throw new Error('the bundle has no source map');
  const json = Buffer.from(code.slice(at + SOURCE_MAP.length).trimEnd(), 'base64').toString();
  const { sourcesContent: _, ...map } = JSON.parse(json) as { sourcesContent?: unknown };
  return code.slice(0, at + SOURCE_MAP.length) + Buffer.from(JSON.stringify(map)).toString('base64');
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) await writeBundle();
