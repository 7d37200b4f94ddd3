/** Builds a program from its pinned Go module: go.mod and go.sum under infra/deploy/tools fix all versions and sums. */
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { intoCache, toolFolder } from '../intoCache.ts';
import { onPath } from '../onPath.ts';
import type { ObtainContext, Source } from '../recipe.ts';
import { lastOutput, runCommand } from '../runCommand.ts';

export interface GoProgram {
  tool: string;
  title: string;
  /** Package to build, such as github.com/temporalio/cli/cmd/temporal. */
  package: string;
  folder: string;
  program: string;
}

const BUILD_TIMEOUT_MS = 20 * 60_000;

export function goBuild(go: GoProgram): Source {
  return intoCache({
    name: `go build (${go.title})`,
    doing: `building ${go.title} with Go, once (a minute or two)`,
    folder: go.folder,
    program: go.program,
    possible: ({ environment }) => mustHaveGo(wantedVersion(go.tool), environment),
    fill: (folder, context) => buildInto(go, folder, context),
  });
}

function wantedVersion(tool: string): string {
  const text = readFileSync(path.join(toolFolder(tool), 'go.mod'), 'utf8');
  return /^go (\d+\.\d+)/m.exec(text)?.[1] ?? '1.26';
}

async function mustHaveGo(wanted: string, environment: NodeJS.ProcessEnv): Promise<void> {
  if (onPath('go', environment.PATH) === undefined) throw new Error(`Go ${wanted} or later is needed, no "go" on PATH`);
  const env = { ...environment, GOTOOLCHAIN: 'local' };
  const result = await runCommand('go', ['env', 'GOVERSION'], { timeoutMs: 20_000, env });
  const found = /go(\d+)\.(\d+)/.exec(result.stdout);
  const [major = 0, minor = 0] = wanted.split('.').map(Number);
  const enough = found !== null && (Number(found[1]) > major || Number(found[2]) >= minor);
  if (!enough) throw new Error(`Go ${wanted} or later is needed, PATH has ${result.stdout.trim() || 'none that runs'}`);
}

async function buildInto(go: GoProgram, folder: string, context: ObtainContext): Promise<void> {
  // Modules and build cache take gigabytes. Kept on the disk of the result, and removed with the build.
  const scratch = path.join(folder, 'scratch');
  const module = path.join(scratch, 'module');
  mkdirSync(module, { recursive: true });
  for (const name of ['go.mod', 'go.sum']) cpSync(path.join(toolFolder(go.tool), name), path.join(module, name));
  const env = {
    ...context.environment,
    GOTOOLCHAIN: 'local',
    GOMODCACHE: path.join(scratch, 'modules'),
    GOCACHE: path.join(scratch, 'cache'),
    GOTMPDIR: scratch,
    GOFLAGS: '-mod=readonly -modcacherw -buildvcs=false',
    GOWORK: 'off',
    CGO_ENABLED: '0',
  };
  try {
    const output = path.join(folder, go.program);
    const args = ['build', '-trimpath', '-ldflags=-s -w', '-o', output, go.package];
    const built = await runCommand('go', args, { cwd: module, timeoutMs: BUILD_TIMEOUT_MS, env });
    if (built.code !== 0) throw new Error(lastOutput(built));
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
