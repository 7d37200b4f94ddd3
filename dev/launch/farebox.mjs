/** `npm run farebox`: the operator's command line. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/cli/main.js');
