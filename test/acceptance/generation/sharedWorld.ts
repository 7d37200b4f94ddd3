/** Deployment shared by orders.test.ts and its imports. Separate processes would cost more than the tests. */
import { useWorld } from './world.ts';

export const world = useWorld();
