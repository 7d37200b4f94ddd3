/** Entry point of the child that turns pages into markdown: one at a time, by message. It ends with its parent. */
import { denyNetwork } from '../child/denyNetwork.ts';
import { type ConvertAnswer, convertPage, type PageBytes } from './convertPage.ts';

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', ({ file, ...page }: PageBytes & { file: number }) => {
  convertPage(page).then(
    (reply) => process.send?.({ file, reply } satisfies ConvertAnswer),
    (error: unknown) => {
      // Only what kind of error: its words may be the page's.
      const failed = error instanceof Error ? error.name : 'unknown';
      process.send?.({ file, reply: { status: 'failed', failed } } satisfies ConvertAnswer);
    },
  );
});
process.send?.('ready');
