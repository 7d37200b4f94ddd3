/** Reads the characters: the operator's file in place of the small one that is shipped. */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Catalogue } from '../../domain/catalogue/catalogue.ts';
import type { Character } from '../../domain/catalogue/character.ts';
import { ConfigError, describeProblems, problemLine } from './problems.ts';
import { parseJson, readText } from './readFile.ts';
import { type CharacterEntry, charactersFile } from './schema/characters.ts';

const SHIPPED_FILE = fileURLToPath(new URL('./builtInCharacters.json', import.meta.url));

/** Default date: the day of the first release. */
const DEFAULT_TIME = '2026-01-01T00:00:00Z';

/** Throws ConfigError, whose message names the file, the path in it, what was found and what is allowed. */
export function readCharacters(named: string | undefined, catalogue: Catalogue): Character[] {
  const file = named ?? SHIPPED_FILE;
  const content = parseJson(readText(file, CAUSE) ?? '[]', file);
  const parsed = charactersFile.safeParse(content);
  if (!parsed.success) throw new ConfigError(file, describeProblems(parsed.error.issues, content));
  const characters = parsed.data.map(toCharacter);
  const problems = crossCheck(characters, catalogue);
  if (problems.length > 0) throw new ConfigError(file, problems);
  return characters;
}

const CAUSE = 'catalogue.charactersFile names the file of characters';

/** Checks beyond the schema: unique slugs and ids, and models that exist and are text models. */
function crossCheck(characters: readonly Character[], { byId }: Catalogue): string[] {
  const first = new Map<string, number>();
  return characters.flatMap((character, index) => {
    const problems: string[] = [];
    for (const key of ['slug', 'id'] as const) {
      // An id can stand for a slug in a path, so neither may equal another's.
      const earlier = first.get(character[key]);
      if (earlier === undefined) first.set(character[key], index);
      else {
        const found = `${JSON.stringify(character[key])}, which [${earlier}] has already`;
        problems.push(problemLine([index, key], found, `a ${key} of its own`));
      }
    }
    if (byId.get(character.modelId)?.type !== 'text') {
      const allowed = 'the id of a text model of the catalogue';
      problems.push(problemLine([index, 'modelId'], JSON.stringify(character.modelId), allowed));
    }
    return problems;
  });
}

function toCharacter(entry: CharacterEntry): Character {
  const { stats, ...plain } = entry;
  const createdAt = entry.createdAt ?? DEFAULT_TIME;
  return {
    ...plain,
    ...stats,
    id: (entry.id ?? idOf(entry.slug)).toLowerCase(),
    description: entry.description ?? null,
    shareUrl: entry.shareUrl ?? null,
    photoUrl: entry.photoUrl ?? null,
    createdAt,
    updatedAt: entry.updatedAt ?? createdAt,
  };
}

/** UUID (version 8) derived from a slug. */
function idOf(slug: string): string {
  const hex = createHash('sha256').update(`farebox character ${slug}`).digest('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
