/** Hostile inputs that need more than one API process, with the tests that send them. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Covered {
  input: string;
  /** Path below test/. */
  file: string;
  /** Exact text of the title in that file. */
  title: string;
}

const COVERED_ELSEWHERE: readonly Covered[] = [
  ...inFile('api/accountShares.test.ts', {
    'large images and slow addresses of one account at once':
      'are counted over all requests of an account, and free again after each',
    'more decoding for one account than it has slots':
      'refuse the work of an account of which too much waits, and no other account',
    'a source that is too large for the account': 'a fetched source that is too much ends its download with 429',
  }),
  ...inFile('api/text/fetchedMedia.test.ts', {
    'forty slow media addresses by an account with funds':
      'has forty different media fetched, and for one more nothing at all',
  }),
  ...inFile('api/speech/voices.test.ts', {
    'a thousand voices':
      'lets ten samples of an account reach the service, also after a restart, and begins anew each UTC day',
  }),
  ...inFile('acceptance/refundBudget.test.ts', {
    'jobs that are cancelled again and again, and Cancel-After':
      'cancels within the budget, answers 409 beyond it, and lets the job go on with its charge',
  }),
  ...inFile('api/paid/purchase.test.ts', {
    'images and transcripts that are left before their answer':
      'a client that leaves before its answer begins, again and again',
  }),
  ...inFile('providers/payments/evm/settlingFees.test.ts', {
    'a contract that pays only where gas costs nothing':
      'a wallet that holds only while gas costs nothing is refused before it is handed in',
    'a transaction below the base fee': 'is told as stuck, and is replaced under its own number by one that pays more',
  }),
  ...inFile('providers/payments/solana/ownSettling.test.ts', {
    'a payment with the highest price of a fee':
      'a payment with the highest price costs our fee payer at most a ten-thousandth of a SOL, and as much as was approved',
    'a payment on its way while payTo changes':
      'a payment on its way is found after payTo and the token were changed in the configuration',
  }),
  ...inFile('providers/payments/solana/refusals.test.ts', {
    'assertions of a wallet that hold only at preflight':
      'the checks that wallets add are taken where a facilitator pays the fee',
  }),
  ...inFile('engines/child/isolation.test.ts', {
    'a decoder that looks for secrets': 'finds no secret of its parent in any process, descriptor or file',
    'a decoder that connects': 'writes its results into the work folder and nothing outside, and connects to nothing',
  }),
  ...inFile('api/server.test.ts', {
    'connections from ten addresses of one network':
      'one network of IPv6 has at most that number, whatever its addresses',
    'a stranger who asks for metrics and parts': 'shows parts and figures to other machines by the token only',
  }),
  ...inFile('infra/postgres/walletAccounts.test.ts', {
    'a contract at the same address on another chain':
      'contracts at one address on two chains, and a key of that address, are three owners',
  }),
  ...inFile('config/payments.test.ts', {
    'a test network beside a real one': 'the test network %s beside a real one',
    'a chain with deep reorganisations': 'networks that fit together are taken, addresses in one spelling',
  }),
  ...inFile('api/auth/signInThrottle.test.ts', {
    'sign-ins of contracts from two addresses': 'two addresses that ask for all places leave some to the others',
    'well-formed keys that nobody has':
      'an address that tries keys in vain is shut out before the database is asked, but for keys that are known',
  }),
  ...inFile('deploy/compose.test.ts', {
    'a container that forks or fills its memory':
      '%s has no privilege that it does not need, and bounds on memory and processes',
  }),
  ...inFile('api/jobs/openStreams.test.ts', {
    'more event streams than one account may have':
      'beyond those of one account are refused in words, and others still get theirs',
    'event streams of ten accounts': 'of ten accounts leave places to others',
  }),
  ...inFile('infra/http/pages/hostilePages.test.ts', {
    'pages that take a reader long': '%s ends in time, and the next page is read',
  }),
  ...inFile('infra/redis/limiter.test.ts', {
    'a Redis that is away':
      'without Redis each process counts for itself, says so once a second at most, and is back by itself',
  }),
  ...inFile('api/x402/topUp.test.ts', {
    'a credited payment that is presented after its time':
      'answers a credited payment as such also when its time is over',
    'many payments of a wallet that has funds for one':
      'takes no further payment of a wallet of which too many are open, and says when to come again',
    'payments that cost a fee and move nothing':
      'takes no further payment of a wallet of which three cost a fee today and moved nothing',
  }),
  ...inFile('workflows/topUp.test.ts', {
    'a refused payment that is good for long':
      'ends failed within its own window, and its chain is asked a few times only until then',
    'a node that lags behind its own word': 'is looked at twice, and is credited where only a lagging node said so',
  }),
  ...inFile('providers/payments/evm/finding.test.ts', {
    'an authorization that was used before': 'is found within a day, and is told as used before where it was earlier',
  }),
  ...inFile('api/text/replacedProcess.test.ts', {
    'SIGTERM under a long stream': 'a long stream ends with an error frame, its bill stands, and the books are clean',
  }),
  ...inFile('infra/postgres/lockedAccount.test.ts', {
    'an account whose row is locked': 'while the row of one account is locked',
  }),
  ...inFile('infra/postgres/busyAccountDuringCheck.test.ts', {
    'a busy account while the books are checked':
      'the row of a busy account takes as many pages during a check as without one',
  }),
  ...inFile('cli/entryDamage.ts', {
    'a charge of a job that is not there': 'a charge for a job without its job',
    '5 USDC credited as 500': 'a payment credited with more than was paid',
    'a payment of one wallet credited to another': 'a wallet whose account is not its own',
    'a charged job past its deadline': 'a job 7 days past its deadline, neither stored nor refunded',
    'a snapshot that does not explain its charge': 'units that have nothing to do with the charge',
  }),
  ...inFile('cli/topUps.test.ts', {
    'a backup without the last credits':
      'payments that a restored backup has lost are found, and are booked once for known wallets',
  }),
  ...inFile('infra/postgres/sealedDays.test.ts', {
    'books of millions of entries': 'takes the days that are over, once, without a gap',
  }),
  ...inFile('infra/postgres/holdExpiry.test.ts', {
    'an account with a damaged hold':
      'a damaged account, and a hold without its operation, are reported and stop no other expiry',
  }),
  ...inFile('infra/postgres/walletTransactions.test.ts', {
    'a page of a long history':
      'are read as far as they are shown: no more rows for page 1 of 300,000 entries than of 300',
  }),
  ...inFile('acceptance/unansweredOrders.test.ts', {
    'an order whose reply is lost': 'an order that was charged and whose reply was lost',
    'SIGTERM after a lost reply': 'is told as accepted by a process that is told to stop meanwhile',
    'an order that a worker comes to late':
      'is never charged, whenever a worker comes to it and whether or not the process stops',
  }),
  ...inFile('activities/reconcile.test.ts', {
    'jobs whose workflow stands still':
      'a job past its deadline is refunded behind more than a page of jobs that cannot be, whose failures are told',
    'more rows than one purge takes': 'a purge goes on until nothing is left, however much there is',
  }),
  ...inFile('api/text/lateBills.test.ts', {
    'Postgres that stalls through a deadline':
      'costs nothing where Postgres stalls through the deadline, and something in time',
    'a deadline between the bill and its answer':
      'gives back what was taken where the deadline passes between the bill and the answer',
  }),
  ...inFile('api/paid/ledgerHold.test.ts', {
    'a bill whose hold has expired': 'of a hold that was %s before is taken without it, once',
  }),
  ...inFile('workers/prepareServer.test.ts', {
    'a Temporal that refuses a version':
      'makes the upkeep schedules when the server comes back, though no version can be registered',
  }),
  ...inFile('api/funds/freeCalls.test.ts', {
    'holds that nobody expires': 'funds that only holds past their end keep are funds',
  }),
  ...inFile('infra/postgres/abandonedHolds.test.ts', {
    'a hold whose answer is lost': 'a hold that is written although its answer was lost is released',
  }),
  ...inFile('infra/postgres/monthEnd.test.ts', {
    'what is repeated in another month': 'what is repeated after the end of the month',
  }),
  ...inFile('workflows/generation.test.ts', {
    'a lost reply of a service that cannot be asked':
      'is refunded when a provider that cannot be asked lost its reply, %s',
  }),
  ...inFile('api/text/xSearch.test.ts', {
    'a search of X that adds to the prompt': "['search_parameters', { search_parameters:",
  }),
];

function inFile(file: string, titles: Record<string, string>): Covered[] {
  return Object.entries(titles).map(([input, title]) => ({ input, file, title }));
}

describe('hostile inputs of other tests', () => {
  it.each(COVERED_ELSEWHERE.map((each) => [each.input, each] as const))('%s', (_input, { file, title }) => {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect(source).toContain(title);
  });
});
