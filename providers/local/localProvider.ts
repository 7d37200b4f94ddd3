/**
 * Local engine: ffmpeg changes voices and makes videos, a synthesiser speaks. It needs no key and no network, and any
 * order may be retried.
 */
import { join } from 'node:path';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type { FfmpegEnd } from '../../engines/media/runFfmpeg.ts';
import type { CallContext, GenerationProvider, Outcome, VideoRequest, VoiceChangeRequest } from '../shared/provider.ts';
import { asMp3, demuxerOptions, MP3_CONTENT_TYPE } from './ffmpegOptions.ts';
import { speak } from './speech.ts';
import { makeVideo } from './video/localVideo.ts';
import { upscaleVideo } from './video/upscaleVideo.ts';
import { filterChain, localVoice } from './voices.ts';

const BYTES_PER_SECOND = 16_000;

export function createLocalProvider(tools: MediaTools): GenerationProvider {
  return {
    repeatable: true,
    async start(request, context) {
      switch (request.kind) {
        case 'voice-changer':
          return await speakAgain(tools, request, context);
        case 'audio':
          return await speak(tools, request, context);
        case 'video':
          return await startVideo(tools, request, context);
      }
    },
  };
}

async function startVideo(tools: MediaTools, request: VideoRequest, context: CallContext): Promise<Outcome> {
  const { upscale } = request;
  return upscale === undefined
    ? await makeVideo(tools, request, context)
    : await upscaleVideo(tools, { ...request, upscale }, context);
}

async function speakAgain(tools: MediaTools, request: VoiceChangeRequest, context: CallContext): Promise<Outcome> {
  const voice = localVoice(request.voice);
  if (voice === undefined) {
    return { status: 'refused', reason: 'refused', message: `Unknown voice: ${request.voice}.` };
  }
  // Without a seed each job sounds different, but all attempts at one job are equal.
  const seed = request.seed === undefined ? `job ${request.reference}` : `seed ${request.seed}`;
  const { removeBackgroundNoise } = request;
  const path = join(context.workFolder, 'output.mp3');
  const chain = filterChain({ voice, removeBackgroundNoise, seed });
  const end = await changeVoice(tools, { request, chain, path, context });
  if (end === 'aborted') throw context.signal.reason;
  return outcomeOf(end, path);
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
      ...demuxerOptions(request.sourceDemuxer),
      ...['-i', `file:${request.sourcePath}`, '-map', '0:a:0', '-af', chain],
      ...['-t', String(Math.ceil(request.sourceSeconds) + 2), ...asMp3(128), `file:${path}`],
      ...['-progress', 'pipe:1'],
    ],
    timeoutMs: 30_000 + request.sourceSeconds * 1_000,
    maxFileBytes: Math.ceil((request.sourceSeconds + 10) * BYTES_PER_SECOND * 1.5),
  };
  return ffmpeg.convert(conversion, { signal: context.signal, onProgress: context.heartbeat });
}

function outcomeOf(end: FfmpegEnd, path: string): Outcome {
  if (end === 'finished') return { status: 'done', output: { path, contentType: MP3_CONTENT_TYPE } };
  const message = end === 'timed_out' ? 'The voice change took too long.' : 'The voice could not be changed.';
  return { status: 'refused', reason: 'failed', message };
}
