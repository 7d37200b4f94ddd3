/** Which features a chat body asks for, and where; whether a file is a picture is seen when it is read (`attemptsThatSee`). */
import type { Feature } from '../../domain/text/features.ts';
import type { ChatBody, SentMessage } from './chatBody.ts';

const MEDIA = { image_url: 'image', input_audio: 'audio', video_url: 'video' } as const;

export function featuresOf(body: ChatBody): Map<Feature, string> {
  const asked = new Map<Feature, string>();
  for (const message of body.messages) noteMedia(asked, message);
  const tools = (body.tools ?? []).some((tool) => tool.type === 'function');
  if (tools) asked.set('tools', 'tools');
  else if (body.tool_choice != null && body.tool_choice !== 'none') asked.set('tools', 'tool_choice');
  else if (body.parallel_tool_calls === true) asked.set('tools', 'parallel_tool_calls');
  if (body.response_format && body.response_format.type !== 'text') asked.set('schema', 'response_format');
  if (body.logprobs === true) asked.set('logprobs', 'logprobs');
  else if (body.top_logprobs != null) asked.set('logprobs', 'top_logprobs');
  if (body.service_parameters.enable_web_search !== 'off') asked.set('webSearch', 'service_parameters');
  return asked;
}

function noteMedia(asked: Map<Feature, string>, message: SentMessage): void {
  if (message.role !== 'user' || typeof message.content === 'string') return;
  for (const { type } of message.content) {
    if (type !== 'text' && type !== 'file') asked.set(MEDIA[type], 'messages');
  }
}
