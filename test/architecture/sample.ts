/** Samples comments and test titles of a revision. Its hash is the seed, so that nobody chooses the sample. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

const COMMENTS = 20;
const TITLES = 10;
const CODE = ['*.ts', '*.mjs'];

interface Line {
  file: string;
  line: number;
  text: string;
}

/** The sample of `revision` (any git name) as text. */
export function sampleOf(revision: string): string {
  const hash = git('rev-parse', revision).trim();
  const comments = joined(linesOf(hash, '^[[:space:]]*(/\\*\\*|\\*[^/]|//) ?[^ /*]', CODE));
  const titles = linesOf(hash, '^[[:space:]]*(it|test)(\\.each\\(.*\\))?\\([\'"`]', ['test/**/*.test.ts']);
  const rows = (lines: Line[]) => lines.map(({ file, line, text }) => `- ${file}:${line}: ${text}`);
  return [
    `${COMMENTS} comments of ${hash}`,
    ...rows(draw(comments, hash, COMMENTS)),
    `${TITLES} test titles of ${hash}`,
    ...rows(draw(titles, hash, TITLES).map(asTitle)),
  ].join('\n');
}

function asTitle({ text, ...place }: Line): Line {
  return { ...place, text: text.replace(/^\w+(?:\.each\(.*?\))?\((['"`])(.*?)\1.*$/, '$2') };
}

function linesOf(hash: string, pattern: string, paths: string[]): Line[] {
  return git('grep', '-I', '-n', '-E', pattern, hash, '--', ...paths)
    .split('\n')
    .flatMap((row) => {
      const [, file, line, text] = /^[0-9a-f]+:(.*?):(\d+):(.*)$/.exec(row) ?? [];
      return file && text !== undefined ? [{ file, line: Number(line), text: text.trim() }] : [];
    });
}

/** Joins the lines of each comment. */
function joined(lines: Line[]): Line[] {
  const comments: (Line & { end: number })[] = [];
  for (const { file, line, text } of lines) {
    const words = text.replace(/^(?:\/\*\*|\*|\/\/)\s*|\s*\*\/$/g, '');
    const last = comments.at(-1);
    if (last && last.file === file && last.end === line - 1) {
      last.text += ` ${words}`;
      last.end = line;
    } else comments.push({ file, line, text: words, end: line });
  }
  return comments;
}

function draw(lines: Line[], seed: string, count: number): Line[] {
  const rank = ({ file, line }: Line) => createHash('sha256').update(`${seed}:${file}:${line}`).digest('hex');
  return lines
    .map((line) => ({ line, rank: rank(line) }))
    .sort((left, right) => (left.rank < right.rank ? -1 : 1))
    .slice(0, count)
    .map(({ line }) => line);
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
}
