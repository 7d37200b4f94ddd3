/** Languages as requests say them, by code or by English name, in the codes of ISO 639-1 that the service takes. */

/** Those of its newest models that have such a code. */
const CODES = (
  'af ar hy as az be bn bs bg ca ny hr cs da nl en et fi fr gl ka de el gu ha he hi hu is id ga it ja jv kn kk ko ky ' +
  'lv ln lt lb mk ms ml zh mr ne no nb ps fa pl pt pa ro ru sr sd sk sl so es sw sv ta te th tr uk ur vi cy'
).split(' ');

const NAMES = new Intl.DisplayNames('en', { type: 'language' });
const BY_NAME: ReadonlyMap<string, string> = new Map(
  CODES.map((code) => [(NAMES.of(code) ?? code).toLowerCase(), code] as const),
);

/** Undefined: no such language is known, and the service hears it for itself. */
export function languageCode(said: string): string | undefined {
  const text = said.trim().toLowerCase();
  const code = text.split(/[-_]/)[0] ?? '';
  return CODES.includes(code) ? code : BY_NAME.get(text);
}
