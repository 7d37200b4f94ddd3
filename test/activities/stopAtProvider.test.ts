import { describe, expect, it } from 'vitest';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { type RunningOperation, stopAtProvider } from '../../activities/stopAtProvider.ts';
import type { CallContext, GenerationProvider } from '../../providers/shared/provider.ts';

type Cancel = NonNullable<GenerationProvider['cancel']>;

const RUNNING: RunningOperation = { queueId: 'queue-1', provider: 'entry', operation: { id: 'op-1' } };

function world(cancel?: Cancel, folderFault?: Error) {
  const folders: string[] = [];
  const lines: string[] = [];
  const log = {
    info: (_: object, words: string) => lines.push(words),
    warn: (_: object, words: string) => lines.push(words),
  };
  const dependencies = {
    providers: new Map([['entry', { start: async () => undefined, ...(cancel && { cancel }) }]]),
    folders: {
      async create() {
        if (folderFault) throw folderFault;
        folders.push('/private');
        return '/private';
      },
      remove: async (folder: string) => void folders.splice(folders.indexOf(folder), 1),
    },
    log,
  } as unknown as ActivityDependencies;
  return {
    folders,
    lines,
    stop: (more: Partial<RunningOperation> = {}) => stopAtProvider(dependencies, { ...RUNNING, ...more }),
  };
}

describe('a generation that nobody waits for', () => {
  it.each([true, false])('is stopped by its handle, and returns the answer of the provider: %s', async (isStopped) => {
    const calls: [unknown, CallContext][] = [];
    const { stop, folders, lines } = world(async (operation, context) => {
      calls.push([operation, context]);
      return isStopped;
    });
    expect(await stop()).toBe(isStopped);
    expect(calls).toHaveLength(1);
    const [operation, context] = calls[0] ?? [];
    expect(operation).toEqual({ id: 'op-1' });
    expect(context).toMatchObject({ workFolder: '/private' });
    expect(folders).toEqual([]);
    expect(lines).toEqual(['provider told to stop']);
  });

  it.each<[string, Partial<RunningOperation>, Cancel | undefined]>([
    ['without a handle', { operation: null }, async () => true],
    ['of a provider that is gone', { provider: 'another' }, async () => true],
    ['of a provider that cannot stop', {}, undefined],
  ])('%s runs on without a cancel request', async (_what, more, cancel) => {
    const { stop, lines } = world(cancel);
    expect(await stop(more)).toBe(false);
    expect(lines).toEqual([]);
  });

  it.each<[string, Cancel]>([
    ['that refuses', () => Promise.reject(new Error('404'))],
    [
      'that throws at once',
      () => {
        throw new Error('a bug');
      },
    ],
  ])('of a provider %s counts as not stopped, and leaves no folder', async (_what, cancel) => {
    const { stop, folders, lines } = world(cancel);
    expect(await stop()).toBe(false);
    expect(folders).toEqual([]);
    expect(lines).toEqual(['a provider was not told to stop']);
  });

  it('counts as not stopped where no work folder can be made', async () => {
    const { stop, lines } = world(async () => true, new Error('disk full'));
    expect(await stop()).toBe(false);
    expect(lines).toEqual(['a provider was not told to stop']);
  });
});
