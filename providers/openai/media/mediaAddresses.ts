/** Several addresses of one service as one provider of media. */
import { type ChoiceOptions, createAddressChoice } from '../../addressChoice.ts';
import { WatchedEvents } from '../../watchedEvents.ts';
import type { OpenAiMedia } from './openAiMedia.ts';

export type MediaCallName = Exclude<keyof OpenAiMedia, 'close'>;

export function createMediaAddresses(options: ChoiceOptions<OpenAiMedia, MediaCallName>): OpenAiMedia {
  const choice = createAddressChoice(options);
  return {
    makeImages: (order, context) =>
      choice.ask({ call: 'makeImages', signal: context.signal }, (each) => each.makeImages(order, context)),
    editImage: (edit, context) =>
      choice.ask({ call: 'editImage', signal: context.signal }, (each) => each.editImage(edit, context)),
    transcribe: (order, context) =>
      choice.ask({ call: 'transcribe', signal: context.signal }, (each) => each.transcribe(order, context)),
    speak: (order, context) =>
      choice.ask(
        { call: 'speak', signal: context.signal },
        (each) => each.speak(order, context),
        ({ bytes }, ends) => ({ bytes: new WatchedEvents(bytes, ends) }),
      ),
    close: async () => {
      await Promise.all(options.addresses.map(({ provider }) => provider.close()));
    },
  };
}
