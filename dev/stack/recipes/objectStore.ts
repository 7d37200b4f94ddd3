import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { goBuild } from '../sources/goBuild.ts';
import { officialDownload, type ReleaseArchive } from '../sources/officialDownload.ts';

const VERSION = '1.7.0';
const RELEASE = `https://github.com/versity/versitygw/releases/download/v${VERSION}`;
const kept = { folder: `versitygw-${VERSION}`, program: 'versitygw', title: `versitygw ${VERSION}` };

function archive(platform: string): ReleaseArchive {
  return {
    url: `${RELEASE}/versitygw_v${VERSION}_${platform}.tar.gz`,
    checksum: { listedAt: `${RELEASE}/checksums.txt` },
  };
}

export const objectStoreRecipe: Recipe = {
  part: 's3',
  title: 'The S3 server (versitygw)',
  variable: 'S3_ENDPOINT',
  variableMeans:
    'the address of an S3 service that runs already, with S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY',
  commands: ['versitygw'],
  async accept(program) {
    await versionOf(program);
  },
  sources: [
    officialDownload({
      ...kept,
      archives: {
        'linux-x64': archive('Linux_x86_64'),
        'linux-arm64': archive('Linux_arm64'),
        'darwin-arm64': archive('Darwin_arm64'),
      },
    }),
    goBuild({ ...kept, tool: 'versitygw', package: 'github.com/versity/versitygw/cmd/versitygw' }),
  ],
};
