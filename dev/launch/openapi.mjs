/** `npm run openapi [-- --out file]`: the API's own description, without the moment of the build. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/api/openapi/print.js');
