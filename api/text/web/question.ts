/**
 * Extracts from the last user message the addresses, or the words for a search engine. No model is involved: equal
 * messages give equal queries.
 */
import type { ChatBody } from '../chatBody.ts';

/** Last text of the user; empty when there is none. */
export function lastUserText({ messages }: Pick<ChatBody, 'messages'>): string {
  const last = messages.findLast(({ role }) => role === 'user');
  if (last === undefined) return '';
  const { content } = last;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`{}|\\^]+/gi;
/** A message can have megabytes: only its beginning is searched. */
const MAX_LOOKED_THROUGH = 200_000;
const MAX_ADDRESS_LENGTH = 2_048;

/** In order, each once, without trailing punctuation. */
export function addressesIn(text: string): string[] {
  const found = text.slice(0, MAX_LOOKED_THROUGH).match(ADDRESS) ?? [];
  const addresses = found.filter((address) => address.length <= MAX_ADDRESS_LENGTH).map(withoutSentence);
  return [...new Set(addresses.filter((address) => URL.canParse(address)))];
}

function withoutSentence(found: string): string {
  let address = found;
  for (;;) {
    const last = address.at(-1) ?? '';
    const closes = (last === ')' && !address.includes('(')) || (last === ']' && !address.includes('['));
    if (!closes && !'.,;:!?*_'.includes(last)) return address;
    address = address.slice(0, -1);
  }
}

/** Limit of search engines. */
const MAX_LETTERS = 400;
const MAX_WORDS = 50;

const CODE = /```[\s\S]*?(?:```|$)/g;
/** Phrases addressed to a model, which do not belong in a search query. */
const SPOKEN = new RegExp(
  '^(?:(?:hi|hello|hey)\\b[ ,!.]*|please\\b[ ,]*|(?:can|could|would|will) you\\b ?(?:please\\b)?[ ,]*|' +
    '(?:tell me|let me know|find out|search(?: the (?:web|internet))?(?: for)?|look up|google)\\b[ :,]*)+',
  'i',
);
/** Prefixes by which some engines choose others (`!g`, `:de`). */
const COMMANDS = /(^|\s)[!:?]+(?=\S)/g;

/** Empty: nothing to search for. */
export function searchQuery(text: string): string {
  const said = text.slice(0, MAX_LOOKED_THROUGH).replace(CODE, ' ').replace(ADDRESS, ' ').replace(/\s+/g, ' ').trim();
  const whole = said.length <= MAX_LETTERS ? said : (lastQuestion(said) ?? said.slice(0, 2 * MAX_LETTERS));
  return cut(whole.replace(SPOKEN, '').replace(COMMANDS, '$1').trim() || whole);
}

/** In a long message the question is at the end, or is the only hint. */
function lastQuestion(said: string): string | undefined {
  const sentences = said.split(/(?<=[.!?]) /);
  return sentences.findLast((sentence) => sentence.endsWith('?') && sentence.length <= MAX_LETTERS);
}

function cut(text: string): string {
  const words = text.split(' ').slice(0, MAX_WORDS);
  let query = '';
  for (const word of words) {
    const longer = query === '' ? word : `${query} ${word}`;
    if (longer.length > MAX_LETTERS) break;
    query = longer;
  }
  return query === '' ? [...text.slice(0, MAX_LETTERS)].slice(0, -1).join('') : query;
}

const OF_TODAY =
  /\b(?:today|tonight|tomorrow|yesterday|currently|latest|newest|most recent|recently|breaking|news|headlines?|weather|forecast|exchange rate|stock price|(?:this|last|next) (?:week|month|year)|right now|as of now|20(?:2[5-9]|[3-9]\d))\b/i;
const ASKED_FOR =
  /\b(?:search|look (?:it |this |that )?up|google|browse|on(?:line| the (?:web|internet))|with sources|cite|citations?)\b/i;

/** `auto`: a search is worth its price when the message is about the present, or asks for a lookup. */
export function isAboutThePresent(text: string): boolean {
  const said = text.slice(0, MAX_LOOKED_THROUGH).replace(CODE, ' ').replace(ADDRESS, ' ');
  return OF_TODAY.test(said) || ASKED_FOR.test(said);
}
