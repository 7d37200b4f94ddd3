/** The one deployment of orders.test.ts and of what it imports: processes of their own would cost more than the tests. */
import { useWorld } from './world.ts';

export const world = useWorld();
