/** `npm run bench [-- NAME]`: runs the benchmarks, or one of them. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/bench/main.js');
