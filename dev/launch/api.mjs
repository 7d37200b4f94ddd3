/** `npm run api`: one API process. */
import { ready } from './ready.mjs';

await ready();
// One Ctrl-C under npm arrives twice; the second must not cut short the drain that the first began.
process.on('SIGINT', () => undefined);
await import('../../dist/api/main.js');
