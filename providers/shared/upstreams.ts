/** Combines several addresses of one service to one provider with the calls that all of them have. */
import { type AddressChoice, type CallOutcome, type ChoiceOptions, createAddressChoice } from './addressChoice.ts';
import type { AddressState } from './addressHealth.ts';
import type { MediaProvider, Speech } from './mediaProvider.ts';
import type { TextProvider } from './textProvider.ts';
import { type StreamEnds, WatchedEvents } from './watchedEvents.ts';

const TEXT_CALLS = ['complete', 'stream', 'embed'] as const;
type TextCallName = (typeof TEXT_CALLS)[number];
export type TextOutcome = CallOutcome<TextCallName>;
export type UpstreamsOptions = ChoiceOptions<TextProvider, TextCallName>;

const MEDIA_CALLS = ['makeImages', 'editImage', 'cutOut', 'enlarge', 'transcribe', 'speak', 'cloneVoice'] as const;
export type MediaCallName = (typeof MEDIA_CALLS)[number];
export type MediaOutcome = CallOutcome<MediaCallName>;

export interface TextUpstreams extends TextProvider {
  health(): { name: string; state: AddressState }[];
}

export function createUpstreams(options: UpstreamsOptions): TextUpstreams {
  const { addresses } = options;
  const choice = createAddressChoice(options);
  return {
    ...callsOf(options, choice, { names: TEXT_CALLS, follow: { stream: watchEvents } }),
    mayReason: (request) => addresses.some(({ provider }) => provider.mayReason?.(request) ?? true),
    health: () => choice.health(),
    close: () => closeAll(options),
  };
}

export function createMediaAddresses(options: ChoiceOptions<MediaProvider, MediaCallName>): MediaProvider {
  const choice = createAddressChoice(options);
  return {
    ...checksOf(options.addresses[0]?.provider),
    ...callsOf(options, choice, { names: MEDIA_CALLS, follow: { speak: watchSpeech } }),
    close: () => closeAll(options),
  };
}

interface CallNames<Name extends string> {
  names: readonly Name[];
  /** Wraps streamed answers to watch their end. */
  follow: { [Call in Name]?: (answer: never, ends: StreamEnds) => unknown };
}

type UpstreamCall = (order: unknown, context: { signal: AbortSignal }) => Promise<unknown>;

/** Sends each call to one of the addresses. The casts rely on `names`: its members are calls, or absent. */
function callsOf<Provider extends object, Name extends string & keyof Provider>(
  { addresses }: ChoiceOptions<Provider, Name>,
  choice: AddressChoice<Provider, Name>,
  { names, follow }: CallNames<Name>,
): Pick<Provider, Name> {
  const offered = names.filter(
    (name) => addresses.length > 0 && addresses.every(({ provider }) => provider[name] !== undefined),
  );
  const callAt = (name: Name): UpstreamCall => {
    const watch = follow[name] as ((answer: unknown, ends: StreamEnds) => unknown) | undefined;
    return (order, context) =>
      choice.ask(
        { call: name, signal: context.signal },
        (provider) => (provider[name] as UpstreamCall).call(provider, order, context),
        watch,
      );
  };
  return Object.fromEntries(offered.map((name) => [name, callAt(name)])) as Pick<Provider, Name>;
}

/** Checks that need no request are equal at all addresses of a service. */
function checksOf(provider: MediaProvider = {}) {
  const { checkEdit, checkTranscription, checkSpeech } = provider;
  return {
    ...(checkEdit && { checkEdit }),
    ...(checkTranscription && { checkTranscription }),
    ...(checkSpeech && { checkSpeech }),
  };
}

async function closeAll(options: ChoiceOptions<TextProvider | MediaProvider, never>): Promise<void> {
  await Promise.all(options.addresses.map(({ provider }) => provider.close?.()));
}

function watchEvents<T extends { events: AsyncIterable<unknown> }>(stream: T, ends: StreamEnds): T {
  const events = new WatchedEvents(stream.events, ends);
  // Other members, which may become known later, are read from the stream itself.
  return Object.create(stream, { events: { value: events, enumerable: true } });
}

function watchSpeech({ bytes }: Speech, ends: StreamEnds): Speech {
  return { bytes: new WatchedEvents(bytes, ends) };
}
