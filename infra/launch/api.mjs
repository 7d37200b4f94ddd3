/** `npm run api`: one API process. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/api/main.js');
