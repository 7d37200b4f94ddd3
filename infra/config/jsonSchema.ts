/** The published JSON Schema of the configuration file, generated from the schema that checks it. */
import { z } from 'zod';
import { configurationFile } from './schema/file.ts';

/** The text of farebox.config.schema.json. What only code can check (names that must exist) is not in it. */
export function configurationJsonSchema(): string {
  const schema = z.toJSONSchema(configurationFile, { io: 'input' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
