/** `npm run openapi [-- --out file]`: prints the API description, without the time of the build. */
import { ready } from './ready.mjs';

await ready();
await import('../../dist/api/openapi/print.js');
