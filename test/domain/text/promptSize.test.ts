/** The hold for a prompt covers the count of the shipped tokenizer for any text. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../domain/text/chat.ts';
import { estimateTokens, promptTokensOf } from '../../../domain/text/promptSize.ts';
import { countTokens } from '../../../engines/text/countTokens.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** Pseudo-random, and the same on every run. */
const NOISE = Uint8Array.from({ length: 1_200 }, (_, at) => (Math.imul(at + 7, 2_654_435_761) >>> 13) % 251);
const bytes = Buffer.from(NOISE);
const each = (write: (index: number) => string | number, count = 200) =>
  Array.from({ length: count }, (_, index) => write(index));

/** Languages in the script with the closest estimates. */
const LATIN: Record<string, string> = {
  English: `The committee met on Tuesday to consider whether the proposal, which had been circulated among the members
    well in advance, should be adopted without further amendment. A few asked for more time to read it.`,
  chatter: "Hey, can you help me plan a trip to Lisbon in May? I don't want to spend more than two weeks there!",
  German: `Die Geschwindigkeitsbegrenzung auf der Autobahn wurde gestern vom Verkehrsministerium bekannt gegeben; die
    Bundesregierung rechnet mit erheblichen Einsparungen.`,
  French: "L'été dernier, nous avons visité plusieurs châteaux de la Loire, où l'on déguste d'excellents vins.",
  Spanish: 'El año pasado viajamos por toda la península y descubrimos pueblos pequeños junto a la plaza mayor.',
  Polish: 'W zeszłym roku pojechaliśmy na wakacje nad morze, gdzie mieszkańcy przyjęli nas z życzliwością.',
  Finnish: 'Kansainvälisessä kokouksessa keskusteltiin ympäristönsuojelulainsäädännön yhdenmukaistamisesta.',
  Turkish: 'Geçen yıl arkadaşlarımızla birlikte Kapadokya’yı gezdik ve çok güzel fotoğraflar çektik.',
  Markdown: read('docs/wallets.md').slice(0, 8_000),
};

/** Estimated at a token a character, which other tokenizers than the shipped one often need. */
const OTHER_SCRIPTS: Record<string, string> = {
  Vietnamese: 'Năm ngoái chúng tôi đã đi du lịch khắp đất nước và gặp gỡ rất nhiều người dân thân thiện.',
  Russian: 'В прошлом году мы путешествовали по всей стране и встретили множество замечательных людей.',
  Greek: 'Πέρυσι ταξιδέψαμε σε όλη τη χώρα και γνωρίσαμε πολλούς φιλόξενους ανθρώπους.',
  Arabic: 'سافرنا العام الماضي في جميع أنحاء البلاد والتقينا بالعديد من الأشخاص الطيبين.',
  Hebrew: 'בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ',
  Hindi: 'पिछले साल हमने पूरे देश की यात्रा की और बहुत से अच्छे लोगों से मिले।',
  Thai: 'เมื่อปีที่แล้วเราได้เดินทางไปทั่วประเทศและพบกับผู้คนใจดีมากมาย',
  Burmese: 'မနှစ်က ကျွန်တော်တို့ တစ်နိုင်ငံလုံးကို ခရီးသွားခဲ့ကြပြီး',
  Georgian: 'გასულ წელს მთელი ქვეყანა მოვიარეთ და ბევრი კეთილი ადამიანი გავიცანით.',
  Chinese: '去年我们走遍了全国各地，遇到了许多善良的人，他们给我们讲了很多故事。',
  'classical Chinese': '學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？關關雎鳩，在河之洲。窈窕淑女，君子好逑。',
  Japanese: '昨年、私たちは全国を旅して、たくさんの親切な人々に出会いました。カタカナのテキストもあります。',
  Korean: '작년에 우리는 전국을 여행하며 많은 친절한 사람들을 만났습니다.',
};

const DENSE: Record<string, string> = {
  Amharic: 'ባለፈው ዓመት በመላው አገሪቱ ተጉዘን ብዙ ደግ ሰዎችን አገኘን።',
  Tibetan: 'ང་ཚོས་དུས་ཚོད་མང་པོ་ལ་སྡོད་པ་རེད།',
  Khmer: 'កាលពីឆ្នាំមុន យើងបានធ្វើដំណើរពាសពេញប្រទេស',
  'words in the sound of their speakers': 'ðə kwɪk braʊn fɒks dʒʌmps',
  emoji: '😀🎉👍🏽👩‍👩‍👧‍👦🇩🇪🏳️‍🌈🧑🏿‍🚀🫠🪿🦖 ok ❤️',
  'letters of four bytes': '𠀀𠀁𪚥 𒀀𒀁 𝐇𝐞𝐥𝐥𝐨',
  'halves of letters': '\ud800a\udc00b',
  drawings: '┌──┬──┐\n│  │  │\n├──┼──┤ ⣿⣷⣯ ∀∃∅ → ≠',
  'wide letters': 'Ｈｅｌｌｏ　ｗｏｒｌｄ１２３',
  'stacked accents': 'H̷̛̙̋ë̸̢́l̶̟͌l̷̰̈́o̷̼͝',
  'control characters': '\u0000\u0001\u0002\u0007\u001b[31m\u007f\u0003',
  digits: each((index) => index % 10).join(' '),
  'a list of numbers': JSON.stringify(each((index) => 10 + ((index * 37) % 90))),
  'a long number': '3141592653589793238462643383279502884197169399375105820974944',
  times: each((index) => new Date(index * 8.64e9 + 1.7e12).toISOString(), 20).join('\n'),
  CSV: each((index) => `${index},${(index * 3.77).toFixed(2)},${index % 2 === 0},x${index % 7}`).join('\n'),
  hex: bytes.toString('hex'),
  'hex in capitals': bytes.toString('hex').toUpperCase(),
  base64: bytes.toString('base64'),
  base64url: bytes.toString('base64url'),
  'escaped bytes': bytes.toString('hex').replace(/../g, '%$&'),
  'random letters': each((at) => String.fromCharCode(97 + ((bytes[at] ?? 0) % 26)), 1_000).join(''),
  'random capitals': each((at) => String.fromCharCode(65 + ((bytes[at] ?? 0) % 26)), 1_000).join(''),
  'a genome': each((at) => 'ACGT'[(bytes[at] ?? 0) % 4] ?? '', 1_000).join(''),
  'capitals of three': 'MDC QFX LTV KZW PHB SNR JGY WVD XQT BLK FJM',
  'single letters': each((at) => String.fromCharCode(97 + (at % 26))).join(' '),
  TypeScript: read('api/text/tally.ts'),
  SQL: read('infra/postgres/functions/ledger/ledger_refund.sql'),
  YAML: read('docker-compose.yml'),
  JSON: read('package.json'),
  'a lock file': read('package-lock.json').slice(0, 10_000),
  'JSON without spaces': JSON.stringify(JSON.parse(read('openapi.json'))).slice(0, 10_000),
  'small JSON': '{"a":1,"b":[true,false,null],"c":{"d":"x","e":-1.5e-7},"g":[[1,2],[3,4]]}',
  'minified JavaScript':
    '!function(e,t){"object"==typeof exports?t(exports):t((e=e||self).x={})}(this,function(e){"use strict";' +
    'var t=0,n=1,r=e=>t+(n<<3)&~e;for(let o=0;o<9;o++)r(o)?t^=o:n|=o});',
  HTML: '<div class="a b"><p id="x">Hi</p><br/><a href="#">go</a></div>',
  LaTeX: '\\frac{\\partial^2 u}{\\partial x^2}+\\sum_{i=0}^{n}\\alpha_i\\beta^{i}\\leq\\int_0^\\infty e^{-x^2}dx',
  'a pattern': "^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-z0-9]+)*)@(?:[a-z])$",
  arithmetic: 'a+b=c; x^2-y^2=(x-y)(x+y); 7*8=56/1',
  molecules: 'CC(=O)OC1=CC=CC=C1C(=O)O CN1C=NC2=C1C(=O)N(C(=O)N2C)C',
  addresses:
    'https://www.example.com/a/b/c?id=8f3a2c&utm_source=x&q=hello%20world%21&sig=Zx9Kq3Lm2Pv7Rt4\n' +
    'https://cdn.xyz.io/v2/a1b2c3d4/img_0001.jpg 192.168.1.1 2001:0db8:85a3::8a2e:0370:7334',
  'a token': 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk',
  identifiers: 'getUserByIdentifierOrThrow get_user_by_identifier MAX_COMPLETION_TOKENS',
  marks: '!@#$%^&*()_+-=[]{}|;:,.<>?/~`"\'\\ ++++[>++<-]>.<,-[+.]',
  spaces: ' '.repeat(1_000),
  lines: '\n'.repeat(1_000),
  'lines of Windows': '\r\n'.repeat(500),
  'spaces and tabs': ' \t'.repeat(300),
  indents: each((index) => `${' '.repeat(index % 17)}x`).join('\n'),
  'control tokens': '<|endoftext|><|im_start|>',
};

const ALL = { ...LATIN, ...OTHER_SCRIPTS, ...DENSE };

beforeAll(() => countTokens('the vocabulary is loaded'));

describe('the estimate of a text', () => {
  it.each(Object.entries(ALL))('of %s is no less than its tokens', async (_name, text) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(await countTokens(text));
  });

  it.each(Object.entries(LATIN))('of prose (%s) is at most twice its tokens', async (_name, text) => {
    expect(estimateTokens(text)).toBeLessThanOrEqual(2 * (await countTokens(text)));
  });

  it.each(Object.entries(OTHER_SCRIPTS))('of prose (%s) is at most about a token a character', (_name, text) => {
    expect(estimateTokens(text)).toBeLessThanOrEqual(1.25 * text.length);
  });

  it('of any mix of them is no less than its tokens', async () => {
    const samples = Object.values(ALL).map((text) => text.slice(0, 400));
    const noise = fc.uint8Array({ minLength: 100, maxLength: 300 }).map((some) => Buffer.from(some));
    const pieces = fc.oneof(
      fc.constantFrom(...samples),
      noise.map((some) => some.toString('base64')),
      noise.map((some) => some.toString('hex')),
      fc.array(fc.nat(1e6), { minLength: 20 }).map((numbers) => numbers.join(',')),
    );
    const joints = fc.constantFrom('', ' ', '\n', '\n\n', ', ', '\t');
    const mixes = fc.tuple(fc.array(pieces, { minLength: 1, maxLength: 8 }), joints);
    const covers = fc.asyncProperty(mixes, async ([texts, joint]) => {
      const text = texts.join(joint);
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(await countTokens(text));
    });
    await fc.assert(covers, { numRuns: 500 });
  });

  it('is one token for a digit, a mark or a short word, and none for an empty text', () => {
    expect(['', '7', '{', 'a', 'the', 'é', '界'].map(estimateTokens)).toEqual([0, 1, 1, 1, 2, 1, 2]);
  });
});

const LONG = 'All that was thought of before. '.repeat(50);

it.each<[string, ChatMessage]>([
  [
    'the text of details of reasoning',
    {
      ...{ role: 'assistant', content: 'So.' },
      reasoning_details: [{ type: 'thinking', format: 'anthropic-claude-v1', text: LONG }],
    },
  ],
  [
    'the data of details of reasoning',
    {
      ...{ role: 'assistant', content: 'So.' },
      reasoning_details: [{ type: 'redacted_thinking', format: 'anthropic-claude-v1', data: LONG }],
    },
  ],
  ['the signature of a thought', { role: 'assistant', content: 'So.', thought_signature: LONG }],
  ['the id of a call that is answered', { role: 'tool', content: 'So.', tool_call_id: LONG }],
  [
    'the id of a call',
    {
      ...{ role: 'assistant', content: 'So.' },
      tool_calls: [{ id: LONG, type: 'function', function: { name: 'f', arguments: '' } }],
    },
  ],
])('includes in the estimate of a prompt %s', (_what, message) => {
  expect(promptTokensOf({ messages: [message] })).toBeGreaterThanOrEqual(estimateTokens(LONG));
});
