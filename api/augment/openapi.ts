/** Descriptions of the augment routes. */
import type { RouteDescription } from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';
import { READING_BUDGET } from '../paid/readings.ts';
import { parserAnswer, scrapeAnswer, searchAnswer } from './schema.ts';

const PRICE =
  '0.01 USD unless the operator set another price, charged only when it is delivered. With the header `x-service-dry-run: true` nothing is called or charged.';

const ABANDONED =
  'A search whose client leaves before the results come counts into the refunds of the day (`limits.refundedPerDay`) and is charged beyond them.';

type AugmentDescriptions = Record<'scrape' | 'search' | 'parse', RouteDescription>;

export const AUGMENT_DESCRIPTIONS: AugmentDescriptions = {
  scrape: {
    group: 'Augment',
    operationId: 'scrapePage',
    summary: 'A page of the web as markdown',
    description: `Main content, headings, tables, code and absolute links. ${PRICE} 20 a minute.`,
    stage: 'experimental',
    answers: { 200: { means: 'The page.', bodies: [{ schema: scrapeAnswer }, { schema: dryRunCost }] } },
    errors: ['insufficient_balance', 'key_limit_exceeded', 'invalid_source', 'blocked_source', 'page_failed'],
    example: { json: { url: 'https://example.com/' } },
  },
  search: {
    group: 'Augment',
    operationId: 'searchWeb',
    summary: 'Search the web',
    description: `${PRICE} ${ABANDONED} No result is a result. 20 a minute.`,
    stage: 'experimental',
    setting: '`search` in the configuration file, or BRAVE_API_KEY',
    answers: {
      200: { means: 'What was found.', bodies: [{ schema: searchAnswer }, { schema: dryRunCost }] },
    },
    errors: [
      ...(['insufficient_balance', 'key_limit_exceeded', 'unsupported_feature', 'rate_limited'] as const),
      ...(['provider_busy', 'provider_failed', 'timed_out'] as const),
    ],
    example: { json: { query: 'prepaid inference', limit: 3 } },
  },
  parse: {
    group: 'Augment',
    operationId: 'parseDocument',
    summary: 'A document as text',
    description: `PDF, EPUB, DOCX, PPTX, XLSX, HTML and plain text, at most 25 MB. ${PRICE} ${READING_BUDGET}`,
    stage: 'experimental',
    answers: {
      200: {
        means: 'Its text and an estimate of its tokens.',
        bodies: [{ schema: parserAnswer }, { schema: dryRunCost }, { mediaType: 'text/plain' }],
      },
    },
    errors: ['insufficient_balance', 'key_limit_exceeded', 'invalid_document', 'payload_too_large'],
    example: { form: { file: '@README.md;type=text/markdown' } },
  },
};
