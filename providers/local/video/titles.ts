/** Lines of text over a picture. The words come from files and are shown as they are: no filter ever reads them. */

import { optionValue } from './filterText.ts';
import { FONT_PATH } from './fontWidths.ts';
import type { Size } from './frames.ts';
import type { Typeset } from './typeset.ts';

export interface Title extends Pick<Typeset, 'fontSize' | 'lineHeight'> {
  /** A file for each line. */
  files: readonly string[];
  size: Size;
  /** Length of the shot. */
  seconds: number;
}

const FADE_SECONDS = 0.6;
const LINE_DELAY_SECONDS = 0.12;

/** Filters, one for each line: it fades in and rises a little, line after line. */
export function titleFilters({ files, fontSize, lineHeight, size, seconds }: Title): string[] {
  const top = Math.round((size.height - files.length * lineHeight) / 2);
  const fade = Math.min(FADE_SECONDS, seconds / 4);
  return files.map((file, index) => {
    const start = Math.min(0.2 + index * LINE_DELAY_SECONDS, seconds / 3);
    const shown = `clip((t-${start.toFixed(3)})/${fade.toFixed(3)},0,1)`;
    const rise = `${(fontSize * 0.35).toFixed(2)}*pow(1-${shown},2)`;
    const soft = Math.max(1, Math.round(fontSize / 22));
    return [
      `drawtext=fontfile=${optionValue(FONT_PATH)}:textfile=${optionValue(file)}:expansion=none`,
      `fontsize=${fontSize}:fontcolor=white:x='(w-text_w)/2'`,
      // By the baseline, or lines without tall letters would stand higher.
      `y='${top + index * lineHeight + Math.round(fontSize * 1.02)}-ascent+${rise}'`,
      `borderw=${soft}:bordercolor=black@0.35:shadowx=${soft}:shadowy=${soft * 2}:shadowcolor=black@0.45`,
      `alpha='${shown}'`,
    ].join(':');
  });
}
