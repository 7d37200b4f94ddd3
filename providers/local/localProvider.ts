/** The engine of our own: ffmpeg changes the voice. It needs no key and no network, and may be repeated at will. */
import { join } from 'node:path';
import { ffmpeg } from '../../infra/media/ffmpeg.ts';
import { FORMAT_READINGS } from '../../infra/media/formats.ts';
import type { MediaTools } from '../../infra/media/mediaTools.ts';
import type { FfmpegEnd } from '../../infra/media/runFfmpeg.ts';
import type { CallContext, GenerationProvider, Outcome, VoiceChangeRequest } from '../provider.ts';
import { unserved } from '../unserved.ts';
import { filterChain } from './filterChain.ts';
import { startVideo } from './startVideo.ts';
import { localVoice } from './voices.ts';

const BYTES_PER_SECOND = 16_000;
const OUTPUT_CONTENT_TYPE = 'audio/mpeg';
/** Nothing of the source but its sound: no tags, no pictures, no writer's name, and the same bytes for the same order. */
const WITHOUT_METADATA = [
  ...['-map_metadata', '-1', '-map_chapters', '-1', '-fflags', '+bitexact', '-flags:a', '+bitexact'],
  ...['-id3v2_version', '0', '-write_id3v1', '0'],
];

export function createLocalProvider(tools: MediaTools): GenerationProvider {
  return {
    repeatable: true,
    async start(request, context) {
      if (request.kind === 'video') return await startVideo(tools, request, context);
      if (request.kind !== 'voice-changer') return unserved(request);
      const voice = localVoice(request.voice);
      if (voice === undefined) {
        return { status: 'refused', reason: 'invalid_request', message: `Unknown voice: ${request.voice}.` };
      }
      // Without a seed each job is another take, and yet each attempt at one job the same.
      const seed = request.seed === undefined ? `job ${request.reference}` : `seed ${request.seed}`;
      const { removeBackgroundNoise } = request;
      const path = join(context.workFolder, 'output.mp3');
      const chain = filterChain({ voice, removeBackgroundNoise, seed });
      const end = await changeVoice(tools, { request, chain, path, context });
      if (end === 'aborted') throw context.signal.reason;
      return outcomeOf(end, path);
    },
  };
}

interface Change {
  request: VoiceChangeRequest;
  chain: string;
  path: string;
  context: CallContext;
}

function changeVoice(tools: MediaTools, { request, chain, path, context }: Change): Promise<FfmpegEnd> {
  const conversion = {
    ffmpegPath: tools.ffmpegPath,
    arguments: [
      ...['-y', '-threads', '1', '-filter_threads', '1', '-protocol_whitelist', 'file,pipe'],
      ...reading(request.sourceDemuxer),
      ...['-i', `file:${request.sourcePath}`, '-map', '0:a:0', '-af', chain],
      ...['-c:a', 'libmp3lame', '-b:a', '128k', ...WITHOUT_METADATA],
      ...['-t', String(Math.ceil(request.sourceSeconds) + 2), '-f', 'mp3', `file:${path}`],
      ...['-progress', 'pipe:1'],
    ],
    timeoutMs: 30_000 + request.sourceSeconds * 1_000,
    maxFileBytes: Math.ceil((request.sourceSeconds + 10) * BYTES_PER_SECOND * 1.5),
  };
  return ffmpeg.convert(conversion, { signal: context.signal, onProgress: context.heartbeat });
}

/** The very reading by which the source was measured. */
function reading(demuxer: string): string[] {
  const known = Object.values(FORMAT_READINGS).find((format) => format.demuxer === demuxer);
  if (known === undefined) throw new Error(`no such demuxer: ${demuxer}`);
  return ['-codec_whitelist', known.decoders.join(','), '-f', known.demuxer, ...known.demuxerOptions];
}

function outcomeOf(end: FfmpegEnd, path: string): Outcome {
  if (end === 'finished') return { status: 'done', output: { path, contentType: OUTPUT_CONTENT_TYPE } };
  const message = end === 'timed_out' ? 'The voice change took too long.' : 'The voice could not be changed.';
  return { status: 'refused', reason: 'failed', message };
}
