/** Pictures, recordings, videos and files in messages, as bytes that we hold (specification 1, reliability S9). */
import { FareboxError } from '../../domain/errors.ts';
import type { UserPart } from '../../domain/text/chat.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../route.ts';
import type { ChatBody } from './chatBody.ts';

export async function fetchMedia(
  _dependencies: Dependencies,
  { body }: RouteRequest<ChatBody, unknown, 'key'>,
): Promise<(part: object) => UserPart | undefined> {
  const found = new Map<object, UserPart>();
  for (const message of body.messages) {
    if (message.role !== 'user' || typeof message.content === 'string') continue;
    for (const part of message.content) {
      if (part.type === 'text') continue;
      throw new FareboxError({
        code: 'unsupported_feature',
        message: `${part.type} parts are not taken yet`,
      });
    }
  }
  return (part) => found.get(part);
}
