/** `npm run bench`, `npm run bench -- NAME`: the benchmarks, each with its floor in the same run. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/bench/main.js');
