/** `npm start`: runs the whole service on one machine. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/cli/start.js');
