/** The workflow bundle's entry: exactly the workflows that the server may start. */
export { generation } from './generation.ts';
export { upkeep } from './upkeep.ts';
export { webhook } from './webhook.ts';
