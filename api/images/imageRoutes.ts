/** All image routes. */
import type { Route } from '../http/route.ts';
import { cutoutRoute } from './cutoutRoute.ts';
import { editRoute, multiEditRoute, openAiEditRoute } from './editRoutes.ts';
import { generateRoute, generationsRoute, stylesRoute } from './generateRoutes.ts';
import { upscaleRoute } from './upscaleRoute.ts';

export const IMAGE_ROUTES: readonly Route[] = [
  multiEditRoute,
  editRoute,
  cutoutRoute,
  upscaleRoute,
  generateRoute,
  generationsRoute,
  openAiEditRoute,
  stylesRoute,
];
