/** Custom search attributes of a namespace, for operators in the Temporal UI. */
import { Connection } from '@temporalio/client';

/** Numbers of the used types at the server (`IndexedValueType`). */
const TYPE_NUMBERS = {
  Text: 1,
  Keyword: 2,
  Int: 3,
  Double: 4,
  Bool: 5,
  Datetime: 6,
  KeywordList: 7,
} as const;
export type SearchAttributeType = keyof typeof TYPE_NUMBERS;

/** Registers attributes whose names are missing. Throws when the server does not answer in 10 s. */
export async function registerSearchAttributes(
  target: { address: string; namespace: string },
  types: Readonly<Record<string, SearchAttributeType>>,
): Promise<void> {
  const { address, namespace } = target;
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  try {
    await connection.withDeadline(Date.now() + 10_000, async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const missing = Object.entries(types).filter(([name]) => !(name in (customAttributes ?? {})));
      if (missing.length === 0) return;
      const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, TYPE_NUMBERS[type]]));
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    });
  } finally {
    await connection.close();
  }
}
