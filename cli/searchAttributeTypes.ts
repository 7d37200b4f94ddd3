import type { SearchAttributeType } from '../infra/temporal/searchAttributes.ts';
import { SEARCH_ATTRIBUTES } from '../workflows/contract.ts';

/** Attributes that a namespace must have before the first job: keywords, and the cost as a number to filter by. */
export const SEARCH_ATTRIBUTE_TYPES: Readonly<Record<string, SearchAttributeType>> = {
  ...Object.fromEntries(Object.values(SEARCH_ATTRIBUTES).map((name) => [name, 'Keyword' as const])),
  [SEARCH_ATTRIBUTES.costUsd]: 'Double',
};
