/** `npm run build`: `dist/`, as the container image and the other commands use it. */
import { ready, say } from './ready.mjs';

await ready();
say('dist/ is current');
