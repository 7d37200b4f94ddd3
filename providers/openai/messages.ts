/** Converts chat messages to chat completions messages. */
import type { ChatMessage, MediaPart, TextPart, UserPart } from '../../domain/text/chat.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { Fields } from '../shared/textFailures.ts';
import type { Dialect } from './dialects.ts';

export function toMessages(messages: readonly ChatMessage[], dialect: Dialect): Fields[] {
  return messages.map((message) => toMessage(message, dialect));
}

function toMessage(message: ChatMessage, dialect: Dialect): Fields {
  const name = message.name === undefined ? {} : { name: message.name };
  switch (message.role) {
    case 'system':
    case 'developer': {
      const role = message.role === 'developer' && !dialect.developerRole ? 'system' : message.role;
      return { role, content: toText(message.content), ...name };
    }
    case 'user': {
      const { content } = message;
      const parts = typeof content === 'string' ? content : content.map((part) => toPart(part, dialect));
      return { role: 'user', content: parts, ...name };
    }
    case 'assistant':
      return { role: 'assistant', ...toTurn(message, dialect), ...name };
    case 'tool':
      return { role: 'tool', content: message.content, tool_call_id: message.tool_call_id };
  }
}

function toTurn(message: Extract<ChatMessage, { role: 'assistant' }>, dialect: Dialect): Fields {
  const turn: Fields = { content: message.content === null ? null : toText(message.content) };
  if (message.tool_calls !== undefined && message.tool_calls.length > 0) turn.tool_calls = message.tool_calls;
  if (dialect.reasoningTurns && message.reasoning_content !== undefined) {
    turn.reasoning_content = message.reasoning_content;
  }
  return turn;
}

/** Omits cache marks, which are Anthropic's: these services cache automatically. */
function toText(content: string | readonly TextPart[]): string | Fields[] {
  return typeof content === 'string' ? content : content.map(({ text }) => ({ type: 'text', text }));
}

function toPart(part: UserPart, dialect: Dialect): Fields {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return {
        type: 'image_url',
        image_url: { url: dataUrl(part), ...(part.detail === undefined ? {} : { detail: part.detail }) },
      };
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: { data: part.bytes.toString('base64'), format: audioFormat(part, dialect) },
      };
    case 'video':
      if (!dialect.videoParts) throw refused('The model does not take videos.');
      return { type: 'video_url', video_url: { url: dataUrl(part) } };
  }
}

function dataUrl({ mediaType, bytes }: MediaPart): string {
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
}

const AUDIO_FORMATS: Record<string, string> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/x-flac': 'flac',
  'audio/x-aiff': 'aiff',
};

function audioFormat({ mediaType }: MediaPart, { audioFormats }: Dialect): string {
  const format = AUDIO_FORMATS[mediaType] ?? mediaType.slice(mediaType.indexOf('/') + 1);
  if (audioFormats !== undefined && !audioFormats.includes(format)) {
    throw refused(`The model takes ${audioFormats.join(' and ')} recordings only.`);
  }
  return format;
}

function refused(message: string): UpstreamFailure {
  return new UpstreamFailure({
    reason: 'refused',
    detail: 'not sent: a part that it does not take',
    message,
  });
}
