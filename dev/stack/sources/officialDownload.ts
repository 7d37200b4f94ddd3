/** Program from an official release archive, over https, checked against a SHA-256. */
import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { downloadRelease } from '../../../infra/http/operatorFetch.ts';
import { intoCache } from '../intoCache.ts';
import type { Source } from '../recipe.ts';
import { lastOutput, runCommand } from '../runCommand.ts';

export interface Release {
  title: string;
  /** By `<process.platform>-<process.arch>`. */
  archives: Partial<Record<string, ReleaseArchive>>;
  folder: string;
  program: string;
}

export interface ReleaseArchive {
  /** URL of a .tar.gz that contains the program. */
  url: string;
  /**
   * Pinned checksum, or the URL of the release's checksum list. The list proves a complete download but, coming from
   * the same host, not an honest host: https does that.
   */
  checksum: { sha256: string } | { listedAt: string };
}

const MAX_ARCHIVE_BYTES = 400_000_000;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
const LIST_TIMEOUT_MS = 20_000;

export function officialDownload(release: Release): Source {
  return intoCache({
    name: `official download (${release.title})`,
    doing: `downloading ${release.title}`,
    folder: release.folder,
    program: release.program,
    fill: (folder, { environment }) => fetchInto(release, folder, environment),
  });
}

async function fetchInto(release: Release, folder: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  const archive = release.archives[platform];
  if (archive === undefined) throw new Error(`no archive is pinned for ${platform}`);
  const file = path.join(folder, 'archive.tar.gz');
  const expected = await expectedSha256(archive, folder, environment);
  const { sha256 } = await downloadRelease({
    url: archive.url,
    path: file,
    maxBytes: MAX_ARCHIVE_BYTES,
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    environment,
  });
  if (sha256 !== expected) throw new Error(`${archive.url} has SHA-256 ${sha256}, expected ${expected}`);
  const unpacked = await runCommand('tar', ['-xzf', file, '-C', folder], { timeoutMs: 120_000 });
  if (unpacked.code !== 0) throw new Error(`tar: ${lastOutput(unpacked)}`);
  rmSync(file);
  liftOut(folder, release.program);
}

async function expectedSha256(
  archive: ReleaseArchive,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  if ('sha256' in archive.checksum) return archive.checksum.sha256;
  const list = path.join(folder, 'checksums.txt');
  const url = archive.checksum.listedAt;
  await downloadRelease({ url, path: list, maxBytes: 1_000_000, timeoutMs: LIST_TIMEOUT_MS, environment });
  const name = path.posix.basename(new URL(archive.url).pathname);
  const line = readFileSync(list, 'utf8')
    .split('\n')
    .find((entry) => entry.trim().endsWith(name));
  const sum = line?.trim().split(/\s+/)[0];
  if (sum === undefined) throw new Error(`${url} does not list ${name}`);
  return sum;
}

/** Some archives contain a single folder. */
function liftOut(folder: string, program: string): void {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true });
  const found = files.find((file) => file.isFile() && file.name === program);
  if (found === undefined) throw new Error(`the archive holds no "${program}"`);
  if (found.parentPath !== folder) renameSync(path.join(found.parentPath, program), path.join(folder, program));
}
