/**
 * The languages that the local engine speaks, by ISO 639-1 code. Left out are those whose usual writing it spells out letter
 * by letter or reads without vowels (Japanese, Hebrew, Thai, Burmese), or whose numbers it does not know (Chuvash, Turkmen).
 */

/** Codes that the engine knows under the same name. */
const SAME_NAME =
  'af am an ar as az ba be bg bn bs ca cs cy da de el eo es et eu fa fi ga gd gn gu hi hr ht hu hy ia id io is it ka kk ' +
  'kl kn ko ku ky la lb lt lv mi mk ml mr ms mt nb ne nl om or pa pl pt qu ro ru sd si sk sl sq sr sv sw ta te tn tr tt ' +
  'ug uk ur uz vi';

const OTHER_NAME = { en: 'en-us', fr: 'fr-fr', no: 'nb', zh: 'cmn' };

const ENGINE_NAMES: ReadonlyMap<string, string> = new Map([
  ...SAME_NAME.split(' ').map((code) => [code, code] as const),
  ...Object.entries(OTHER_NAME),
]);

/** What is spoken where the order names no language. */
export const DEFAULT_LANGUAGE = 'en';

/** ISO 639-1 codes, in order. */
export const SPEECH_LANGUAGES: readonly string[] = [...ENGINE_NAMES.keys()].sort();

/** The engine's name of the language; undefined when it does not speak it. */
export function engineLanguage(code: string): string | undefined {
  return ENGINE_NAMES.get(code);
}
