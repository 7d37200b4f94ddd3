/** Pages in a message are read for the model instead of a search, and each page that was read is charged. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createPageReader } from '../../../../infra/http/pages/pageReader.ts';
import { checkLedger } from '../../../../infra/postgres/ledgerCheck.ts';
import { ask, CENT, lastMessages, nano, says, startWebWorld, stream, type WebWorld } from './webWorld.ts';

const READ = { enable_web_scraping: true };

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});

afterAll(() => world.close());

afterEach(async () => {
  await world.text.settled();
  expect(await checkLedger(world.text.api.opened.dependencies.core.sql)).toEqual([]);
});

/** Returns the charge beside the tokens, in cents. */
async function centsOf(answer: { id: string; usage: { prompt_tokens: number; completion_tokens: number } }) {
  await world.text.settled();
  const { prompt_tokens, completion_tokens } = answer.usage;
  const entry = await world.text.entryOf(answer.id);
  const rest = (entry?.amountNano ?? 0n) - BigInt(prompt_tokens * 1_000 + completion_tokens * 2_000);
  return { cents: rest / CENT, rest: rest % CENT, notes: entry?.notes ?? '' };
}

describe('the pages of a message', () => {
  it('precede the conversation as text, replace a search, and cost a cent each', async () => {
    const before = await world.spentNano();
    const searches = world.engine.requests.length;
    const words = `Compare ${world.site}/fares with (${world.site}/rules), and ${world.site}/fares.`;
    const answer = await ask(world, says(words, { ...READ, enable_web_search: 'on', enable_web_citations: true }));
    const block = lastMessages(world)[0]?.content ?? '';
    expect(block).toContain(`<page number="1">\n${world.site}/fares\nFares\n# Fares`);
    expect(block).toContain(`<page number="2">\n${world.site}/rules\n`);
    expect(block).toContain('^1,3^');
    expect(world.engine.requests.length).toBe(searches);
    expect(answer.service_parameters.web_search_citations.map(({ url }) => url)).toEqual([
      `${world.site}/fares`,
      `${world.site}/rules`,
    ]);
    expect(await centsOf(answer)).toMatchObject({ cents: 2n, rest: 0n });
    expect((await world.spentNano()) - before).toBe(nano(answer.cost.usd));
  });

  it('cannot end their own block by text that looks like its end', async () => {
    await ask(world, says(`${world.site}/rules`, READ));
    expect(lastMessages(world)[0]?.content.match(/<\/page>/g)).toHaveLength(1);
  });

  it('are limited to five, and the model gets the number of the others', async () => {
    world.visited.length = 0;
    const addresses = Array.from({ length: 7 }, (_, index) => `${world.site}/fares?n=${index}`);
    const answer = await ask(world, says(addresses.join(' '), READ));
    expect(world.visited.filter((path) => path.startsWith('/fares'))).toHaveLength(5);
    expect(lastMessages(world)[0]?.content).toContain('2 more addresses were not read.');
    expect((await centsOf(answer)).cents).toBe(5n);
  });

  it('that cannot be read are reported to the model without a charge', async () => {
    const words = `${world.site}/gone http://169.254.169.254/latest https://www.reddit.com/r/node ${world.site}/fares`;
    const answer = await ask(world, says(words, READ));
    const block = lastMessages(world)[0]?.content ?? '';
    expect(block.match(/<unread>/g)).toHaveLength(3);
    expect(block).toContain('it answered with status 404');
    expect(block).toContain('<page number="1">');
    const { cents, notes } = await centsOf(answer);
    expect([cents, notes]).toEqual([1n, expect.stringContaining('pages that could not be read, not charged: 3')]);
  });

  it('are reported to the model without a charge when too many pages are being read', async () => {
    const { dependencies } = world.text.api.opened;
    const { pages } = dependencies.providers;
    const full = createPageReader({ allowPrivateHosts: [], turns: { atOnce: 0, maxWaiting: 0 } });
    dependencies.providers.pages = full;
    try {
      const answer = await ask(world, says('https://example.com/', READ));
      expect(lastMessages(world)[0]?.content).toContain('Too many pages are being read at the moment');
      expect((await centsOf(answer)).cents).toBe(0n);
    } finally {
      dependencies.providers.pages = pages;
      full.close();
    }
  });

  it('do not prevent an answer when none can be read, which costs its tokens', async () => {
    const wished = { ...READ, return_search_results_as_documents: true };
    const answer = await ask(world, says(`${world.site}/gone`, wished));
    expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
    expect((await centsOf(answer)).cents).toBe(0n);
  });

  it('are cut to the held tokens', async () => {
    const body = says(`${world.site}/long`, READ);
    await ask(world, body);
    const block = lastMessages(world)[0]?.content ?? '';
    expect(block.length).toBeGreaterThan(15_000);
    expect(block.length).toBeLessThanOrEqual(20_000);
    expect(block.endsWith('</page>')).toBe(true);
  });

  it('come first in a stream on request', async () => {
    const wished = { ...READ, include_search_results_in_stream: true };
    const [first, ...chunks] = await stream(world, says(`${world.site}/fares`, wished));
    expect(first?.service_parameters?.web_search_citations.map(({ title }) => title)).toEqual(['Fares']);
    expect(nano(chunks.at(-1)?.cost?.usd ?? 0) > CENT).toBe(true);
  });

  it('come from the last message alone, and without any a requested search is made', async () => {
    world.visited.length = 0;
    const searches = world.engine.requests.length;
    await ask(world, {
      messages: [
        { role: 'user', content: `${world.site}/fares` },
        { role: 'assistant', content: 'Hm.' },
        { role: 'user', content: 'Who won the final?' },
      ],
      service_parameters: { ...READ, enable_web_search: 'on' },
    });
    expect([world.visited, world.engine.requests.length - searches]).toEqual([[], 1]);
  });

  it('are read for sixty requests a minute and account', async () => {
    const { secret } = await world.text.api.newKey('INFERENCE');
    const init = { key: secret, headers: { 'x-service-dry-run': 'true' } };
    const ask = (words: string) => world.text.chat(says(words, READ), init);
    const answers = await Promise.all(Array.from({ length: 61 }, () => ask(`${world.site}/fares`)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status }) => status)).toEqual([429]);
    expect(await refused[0]?.json()).toMatchObject({
      error: expect.stringContaining('60 requests per minute with pages of the web'),
    });
    expect((await ask('no address')).status).toBe(200);
  });

  it('appear in no log line', async () => {
    const gone = `${world.site}/gone/canary-of-the-failure http://canary-of-the-host.invalid/`;
    await ask(world, says(`${world.site}/fares?canary-of-the-query ${gone}`, READ));
    expect(lastMessages(world)[0]?.content).toContain('canary-of-the-page');
    expect(world.text.api.log.filter((line) => line.includes('canary-of-the'))).toEqual([]);
  });
});
