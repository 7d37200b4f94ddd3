/** The first page of the documentation. */
import { ERROR_CODES } from '../../domain/errors.ts';
import { errorStatus } from '../http/errors.ts';
import { ERROR_MEANINGS } from './errorCatalogue.ts';

export function introduction(title: string): string {
  return `${title}: inference and media, paid from prepaid credit.

## First steps

\`npm start\` prints an address and two keys. Every example here is a command for a shell that knows the address and the
ADMIN key, started in the folder of the repository:

\`\`\`sh
export FAREBOX_URL=http://127.0.0.1:8080/api/v1
export FAREBOX_API_KEY=…
\`\`\`

Every path is also served below \`/v1\`, without \`/api\`: \`http://127.0.0.1:8080/v1\` suits clients of OpenAI's API.

A key is sent as \`Authorization: Bearer …\`. An INFERENCE key calls models; an ADMIN key also makes keys and reads what was
spent.

## Errors

Every error has words for people in \`error\`. Those about fields have \`details\` and \`issues\` as well, those about limits
\`customMessage\`. Nothing is charged by a request that is refused.

| Status | Error | Meaning |
|---|---|---|
${errorTable()}

## Limits

Every answer to a known key, errors included, says what is left in \`x-ratelimit-…\` headers: those of the window of
requests of its model, else of its route, and those of tokens where tokens are limited. A refused request has
\`Retry-After\`. Every answer of 400 and above but 429 counts into the budget of failures.

## Changes

A field may be added at any time. What is marked beta or experimental may change without notice.`;
}

function errorTable(): string {
  return [...ERROR_CODES]
    .sort((left, right) => errorStatus(left) - errorStatus(right))
    .map((code) => `| ${errorStatus(code)} | \`${code}\` | ${ERROR_MEANINGS[code]} |`)
    .join('\n');
}
