/** Entry point of the child that converts pages to Markdown: one page per message. Exits with its parent. */
import { denyNetwork } from '../child/denyNetwork.ts';
import { type ConvertAnswer, convertPage, type PageBytes } from './convertPage.ts';

denyNetwork();
process.on('disconnect', () => process.exit(0));
process.on('message', ({ file, ...page }: PageBytes & { file: number }) => {
  convertPage(page).then(
    (reply) => process.send?.({ file, reply } satisfies ConvertAnswer),
    (error: unknown) => {
      // Reports the error's name only, because its message may quote the page.
      const failed = error instanceof Error ? error.name : 'unknown';
      process.send?.({ file, reply: { status: 'failed', failed } } satisfies ConvertAnswer);
    },
  );
});
process.send?.('ready');
