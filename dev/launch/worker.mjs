/** `npm run worker`: one worker process. */
import { ready } from './ready.mjs';

await ready();
// One Ctrl-C under npm arrives twice. The second must not interrupt the drain that the first started.
process.on('SIGINT', () => undefined);
await import('../../dist/workers/main.js');
