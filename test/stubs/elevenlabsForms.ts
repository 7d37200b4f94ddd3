/** Forms that the stub of ElevenLabs accepts: recordings to transcribe and to make voices of. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface StubForm {
  path: string;
  fields: Record<string, string>;
  files: { name: string; filename: string; type: string; bytes: number }[];
  /** The client closed the connection before the answer ended. */
  aborted: boolean;
}

interface Arrived {
  body: Buffer<ArrayBuffer>;
  type: string;
  request: IncomingMessage;
  response: ServerResponse;
}

interface FormAnswer {
  status: number;
  body: unknown;
}

export async function takeForm(path: string, { body, type, response }: Arrived): Promise<StubForm> {
  const form = await new Response(body, { headers: { 'content-type': type } }).formData().catch(() => new FormData());
  const taken: StubForm = { path, fields: {}, files: [], aborted: false };
  for (const [name, value] of form) {
    if (typeof value === 'string') taken.fields[name] = value;
    else taken.files.push({ name, filename: value.name, type: value.type, bytes: value.size });
  }
  response.once('close', () => {
    taken.aborted = !response.writableFinished;
  });
  return taken;
}

export const STUB_TRANSCRIPT = 'Hello there. ';
export const STUB_VOICE = 'newVoice0000000000001';

const word = (text: string, start: number, end: number) => ({
  text,
  start,
  end,
  type: 'word',
  logprob: -0.1,
});

export function checkTranscript({ fields, files }: StubForm): FormAnswer {
  if (files[0]?.name !== 'file') return invalid('file', 'Field required');
  const { model_id: model, language_code: language, timestamps_granularity: times = 'word' } = fields;
  if (model !== 'scribe_v1' && model !== 'scribe_v2') {
    const message = `'${model}' is not a valid model_id.`;
    return { status: 400, body: { detail: { status: 'invalid_model_id', message } } };
  }
  if (!['none', 'word', 'character'].includes(times)) return invalid('timestamps_granularity', 'Invalid value');
  if (language !== undefined && !/^[a-z]{2,3}$/.test(language)) return invalid('language_code', 'Invalid value');
  const spacing = { text: ' ', start: 0.42, end: 0.5, type: 'spacing', logprob: 0 };
  const timed = [word('Hello', 0, 0.42), spacing, word('there.', 0.5, 0.9)];
  const words = times === 'none' ? [] : timed;
  return {
    status: 200,
    body: {
      language_code: 'eng',
      language_probability: 0.98,
      text: STUB_TRANSCRIPT,
      words,
      audio_duration_secs: 1,
    },
  };
}

export function checkVoice({ fields, files }: StubForm): FormAnswer {
  if (!fields.name) return invalid('name', 'Field required');
  if (files.length === 0 || files.some(({ name }) => name !== 'files')) return invalid('files', 'Field required');
  return { status: 200, body: { voice_id: STUB_VOICE, requires_verification: false } };
}

function invalid(field: string, msg: string): FormAnswer {
  return { status: 422, body: { detail: [{ loc: ['body', field], msg, type: 'value_error' }] } };
}
