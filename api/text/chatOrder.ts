/** From the body of a chat request to what the models are asked: everything that can be refused before anything is held. */
import type { ChatMessage } from '../../domain/text/chat.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../route.ts';
import type { AnswerForm } from './answerForm.ts';
import { attemptsWithRoom, characterOf, chatAttempts, priceAttempt } from './chatAttempts.ts';
import type { ChatBody } from './chatBody.ts';
import { type ChatOrder, informedBy } from './chatCall.ts';
import { encryptionOf } from './encryption.ts';
import { fetchMedia } from './mediaParts.ts';
import { toMessages } from './toChatRequest.ts';
import { limitVisits, refuseWithoutEngine, webErrand } from './web/errand.ts';

type Asking = RouteRequest<ChatBody, unknown, 'key'>;

/** Throws FareboxError for whatever is wrong with the request. */
export async function openOrder(
  dependencies: Dependencies,
  request: Asking,
  form: AnswerForm,
): Promise<ChatOrder> {
  const { body, caller } = request;
  refuseWithoutEngine(dependencies, body);
  const able = form.choose(chatAttempts(dependencies.config, request));
  const [first] = able;
  const e2eeHeaders = encryptionOf(dependencies.config, request, first.model);
  if (e2eeHeaders) {
    // What was encrypted for one model is noise to another, and to whoever would add to it.
    const messages = toMessages(body.messages, () => undefined);
    return {
      request,
      attempts: [first],
      price: pricing(request, { messages, errand: undefined, e2eeHeaders }),
    };
  }
  const messages = await messagesOf(dependencies, request);
  const attempts = await attemptsWithRoom(able, { body, accountId: caller.accountId, messages });
  const errand = webErrand(dependencies, request, attempts[0].model);
  await limitVisits(dependencies, caller.accountId, errand);
  const order: ChatOrder = { request, attempts, price: pricing(request, { messages, errand }) };
  return errand ? { ...order, inform: (priced) => informedBy(errand, priced) } : order;
}

type Said = Pick<Parameters<typeof priceAttempt>[1], 'messages' | 'errand' | 'e2eeHeaders'>;

function pricing({ body, caller }: Asking, said: Said): ChatOrder['price'] {
  return (attempt) => priceAttempt(attempt, { body, accountId: caller.accountId, ...said });
}

async function messagesOf(dependencies: Dependencies, request: Asking): Promise<ChatMessage[]> {
  const { config } = dependencies;
  const { body } = request;
  const media = await fetchMedia(dependencies, request);
  const told: ChatMessage[] = [];
  const prompt = config.brand.systemPrompt;
  if (prompt !== '' && body.service_parameters.include_service_system_prompt) {
    told.push({ role: 'system', content: prompt });
  }
  const character = characterOf(config, body);
  if (character) told.push({ role: 'system', content: character.systemPrompt });
  return [...told, ...toMessages(body.messages, media)];
}
