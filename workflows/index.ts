/** The workflow bundle's entry: exactly the workflows that the server may start. */
export { generation } from './generation.ts';
export { topUp } from './topUp.ts';
export { upkeep } from './upkeep.ts';
export { webhook } from './webhook.ts';
