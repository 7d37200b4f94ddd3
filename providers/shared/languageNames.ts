/** English names of languages, by ISO 639-1 code. */
const NAMES: Readonly<Record<string, string>> = {
  ar: 'Arabic',
  bg: 'Bulgarian',
  ca: 'Catalan',
  cs: 'Czech',
  da: 'Danish',
  de: 'German',
  el: 'Greek',
  en: 'English',
  es: 'Spanish',
  fi: 'Finnish',
  fr: 'French',
  he: 'Hebrew',
  hi: 'Hindi',
  hr: 'Croatian',
  hu: 'Hungarian',
  id: 'Indonesian',
  it: 'Italian',
  ja: 'Japanese',
  ko: 'Korean',
  ms: 'Malay',
  nl: 'Dutch',
  no: 'Norwegian',
  pl: 'Polish',
  pt: 'Portuguese',
  ro: 'Romanian',
  ru: 'Russian',
  sk: 'Slovak',
  sl: 'Slovenian',
  sv: 'Swedish',
  th: 'Thai',
  tr: 'Turkish',
  uk: 'Ukrainian',
  vi: 'Vietnamese',
  zh: 'Chinese',
};

/** `said`: "en", "en-GB" or "english". Undefined for anything else: the service detects the language. */
export function languageName(said: string | undefined): string | undefined {
  if (said === undefined) return undefined;
  const wanted = said.trim().toLowerCase();
  const code = wanted.split(/[-_]/)[0] ?? '';
  if (Object.hasOwn(NAMES, code)) return NAMES[code];
  return Object.values(NAMES).find((name) => name.toLowerCase() === wanted);
}
