/** The published JSON Schema of the configuration file, generated from the schema that checks it. */
import { z } from 'zod';
import { configurationFile } from './schema/file.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';

/** The text of farebox.config.schema.json. What only code can check (names that must exist) is not in it. */
export function configurationJsonSchema(kinds: ConfigurableKinds): string {
  const schema = z.toJSONSchema(configurationFile(kinds), { io: 'input' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
