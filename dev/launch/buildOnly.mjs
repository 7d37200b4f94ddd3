/** `npm run build`: builds `dist/` for the container image and the other commands. */
import { ready, say } from './ready.mjs';

await ready();
say('dist/ is current');
