/** One or several addresses of one service as one provider of media. */
import { asked, type CallOutcome, type ChoiceOptions, createAddressChoice } from './addressChoice.ts';
import type { MediaCallContext, MediaProvider, Speech } from './mediaProvider.ts';
import { type StreamEnds, WatchedEvents } from './watchedEvents.ts';

const CALLS = ['makeImages', 'editImage', 'cutOut', 'enlarge', 'transcribe', 'speak', 'cloneVoice'] as const;
export type MediaCallName = (typeof CALLS)[number];
export type MediaOutcome = CallOutcome<MediaCallName>;

type Send<Order, Made> = (
  provider: MediaProvider,
  order: Order,
  context: MediaCallContext,
) => Promise<Made> | undefined;

/** It offers what all of them offer. */
export function createMediaAddresses(options: ChoiceOptions<MediaProvider, MediaCallName>): MediaProvider {
  const { addresses } = options;
  const choice = createAddressChoice(options);
  function of<Order, Made>(
    call: MediaCallName,
    send: Send<Order, Made>,
    follow?: (made: Made, ends: StreamEnds) => Made,
  ) {
    if (addresses.length === 0 || !addresses.every(({ provider }) => provider[call])) return undefined;
    return (order: Order, context: MediaCallContext) =>
      choice.ask({ call, signal: context.signal }, (each) => asked(send(each, order, context)), follow);
  }
  const operations: { [Call in MediaCallName]: MediaProvider[Call] | undefined } = {
    makeImages: of('makeImages', (each, order, context) => each.makeImages?.(order, context)),
    editImage: of('editImage', (each, order, context) => each.editImage?.(order, context)),
    cutOut: of('cutOut', (each, order, context) => each.cutOut?.(order, context)),
    enlarge: of('enlarge', (each, order, context) => each.enlarge?.(order, context)),
    transcribe: of('transcribe', (each, order, context) => each.transcribe?.(order, context)),
    speak: of('speak', (each, order, context) => each.speak?.(order, context), watch),
    cloneVoice: of('cloneVoice', (each, order, context) => each.cloneVoice?.(order, context)),
  };
  const offered = CALLS.filter((call) => operations[call] !== undefined);
  return {
    ...checksOf(addresses[0]?.provider),
    ...(Object.fromEntries(offered.map((call) => [call, operations[call]])) as Pick<
      MediaProvider,
      MediaCallName
    >),
    close: async () => {
      await Promise.all(addresses.map(({ provider }) => provider.close?.()));
    },
  };
}

/** What is known without asking is the same at every address of a service. */
function checksOf(provider: MediaProvider = {}) {
  const { checkEdit, checkTranscription, checkSpeech } = provider;
  return {
    ...(checkEdit && { checkEdit }),
    ...(checkTranscription && { checkTranscription }),
    ...(checkSpeech && { checkSpeech }),
  };
}

function watch({ bytes }: Speech, ends: StreamEnds): Speech {
  return { bytes: new WatchedEvents(bytes, ends) };
}
