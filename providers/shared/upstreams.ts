/** Several addresses of one text service as one provider. */
import { asked, type CallOutcome, type ChoiceOptions, createAddressChoice } from './addressChoice.ts';
import type { AddressState } from './addressHealth.ts';
import type { TextProvider } from './textProvider.ts';
import { type StreamEnds, WatchedEvents } from './watchedEvents.ts';

type TextCallName = 'complete' | 'stream' | 'embed';
export type TextOutcome = CallOutcome<TextCallName>;
export type UpstreamsOptions = ChoiceOptions<TextProvider, TextCallName>;

export interface TextUpstreams extends TextProvider {
  health(): { name: string; state: AddressState }[];
}

export function createUpstreams(options: UpstreamsOptions): TextUpstreams {
  const { addresses } = options;
  const choice = createAddressChoice(options);
  const offers = (call: TextCallName) =>
    addresses.length > 0 && addresses.every(({ provider }) => provider[call]);
  return {
    ...(offers('complete') && {
      complete: (request, context) =>
        choice.ask({ call: 'complete', signal: context.signal }, (provider) =>
          asked(provider.complete?.(request, context)),
        ),
    }),
    ...(offers('stream') && {
      stream: (request, context) =>
        choice.ask(
          { call: 'stream', signal: context.signal },
          (provider) => asked(provider.stream?.(request, context)),
          watch,
        ),
    }),
    mayReason: (request) => addresses.some(({ provider }) => provider.mayReason?.(request) ?? true),
    ...(offers('embed') && {
      embed: (request, context) =>
        choice.ask({ call: 'embed', signal: context.signal }, (provider) =>
          asked(provider.embed?.(request, context)),
        ),
    }),
    health: () => choice.health(),
    close: async () => {
      await Promise.all(addresses.map(({ provider }) => provider.close()));
    },
  };
}

function watch<T extends { events: AsyncIterable<unknown> }>(stream: T, ends: StreamEnds): T {
  const events = new WatchedEvents(stream.events, ends);
  // The rest of it, which may become known only later, is read from the stream itself.
  return Object.create(stream, { events: { value: events, enumerable: true } });
}
