import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { goBuild } from '../sources/goBuild.ts';
import { officialDownload, type ReleaseArchive } from '../sources/officialDownload.ts';

const VERSION = '1.5.0';
const RELEASE = `https://github.com/temporalio/cli/releases/download/v${VERSION}`;
const kept = { folder: `temporal-cli-${VERSION}`, program: 'temporal', title: `Temporal ${VERSION}` };
/** Required by fairness and worker versioning. */
const OLDEST_SERVER = { major: 1, minor: 29 };

function archive(platform: string, sha256: string): ReleaseArchive {
  return { url: `${RELEASE}/temporal_cli_${VERSION}_${platform}.tar.gz`, checksum: { sha256 } };
}

export const temporalRecipe: Recipe = {
  part: 'temporal',
  title: 'Temporal',
  variable: 'TEMPORAL_ADDRESS',
  variableMeans: 'host:port of a Temporal server (1.29 or later) that runs already',
  commands: ['temporal'],
  accept,
  sources: [
    officialDownload({
      ...kept,
      archives: {
        'linux-x64': archive('linux_amd64', '0e847562a59ac7cbed38893bfd21944da4f2ff1213339963c79edf3685cc0c55'),
        'linux-arm64': archive('linux_arm64', '6533d3399f3620ebb5356514e2e85865785e7fd16294df516000e2e7c56cd8a6'),
        'darwin-arm64': archive('darwin_arm64', '7437c43acc82416e8a612aeabe396bc1fb78efca0b648afb0253ad30c511b8e3'),
      },
    }),
    goBuild({ ...kept, tool: 'temporal', package: 'github.com/temporalio/cli/cmd/temporal' }),
  ],
};

/** "temporal version 1.5.0 (Server 1.29.0, UI 2.41.0)": the server version counts. */
async function accept(program: string): Promise<void> {
  const version = await versionOf(program);
  const [, major = '0', minor = '0'] = /Server (\d+)\.(\d+)/.exec(version) ?? [];
  const { major: wantedMajor, minor: wantedMinor } = OLDEST_SERVER;
  const enough = Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
  if (!enough) throw new Error(`a server of ${wantedMajor}.${wantedMinor} or later is needed, it is "${version}"`);
}
