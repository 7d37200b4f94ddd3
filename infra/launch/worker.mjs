/** `npm run worker`: one worker process. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/workers/main.js');
