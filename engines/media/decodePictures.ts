/**
 * Decodes the pictures of a file really, and its sound, and tells what came out: how many pictures, how large, from when to
 * when. Of each picture only a row and a column leave the decoder: as many bytes as it is wide, and as it is high.
 */
import { readDecodeLog } from './decodeLog.ts';
import { createFrameCount, type FrameCount } from './frameCount.ts';
import { type FfmpegEnd, runFfmpeg } from './runFfmpeg.ts';

export interface DecodePicturesRequest {
  ffmpegPath: string;
  path: string;
  demuxer: string;
  demuxerOptions: readonly string[];
  /** The only decoders that may be opened. */
  decoders: readonly string[];
  /** A larger picture is not decoded. */
  maxPixels: number;
  /** Decoding stops soon after this many pictures; 1: there is only one to look at. */
  maxPictures: number;
  /** Decoding stops soon after this much. */
  maxSeconds: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface DecodedPictures extends FrameCount {
  end: FfmpegEnd;
  /** Packets that the decoder refused. */
  failedPackets: number;
  /** The demuxer met something else than the end of the file. */
  broken: boolean;
}

const THREADS = 2;
/** A pixel of sixteen bits in four colours; alignment comes on top. */
const MAX_PIXEL_BYTES = 8;
const ALIGNMENT_BYTES = 4 * 1024 * 1024;

export async function decodePictures(request: DecodePicturesRequest): Promise<DecodedPictures> {
  const log = readDecodeLog();
  const count = createFrameCount(request);
  const end = await runFfmpeg({
    ffmpegPath: request.ffmpegPath,
    arguments: [...input(request), ...toCountablePictures(request)],
    timeoutMs: request.timeoutMs,
    maxFileBytes: 0,
    maxPieceBytes: Math.max(128 * 1024 * 1024, request.maxPixels * MAX_PIXEL_BYTES + ALIGNMENT_BYTES),
    threads: THREADS,
    signal: request.signal,
    onLog: log.line,
    onOutput: count.piece,
  });
  const { failedPackets, broken } = log.result;
  return { end, ...count.result(), failedPackets, broken };
}

function input(request: DecodePicturesRequest): string[] {
  const single = request.maxPictures === 1;
  return [
    ...['-threads', String(THREADS), '-protocol_whitelist', 'file,pipe', '-max_streams', '32'],
    ...['-codec_whitelist', request.decoders.join(','), '-max_pixels', String(request.maxPixels)],
    // How it is turned is read from its header; turning every picture would cost more than decoding it.
    ...['-noautorotate', '-flags2', '+skip_manual'],
    // Of one picture every fault counts; the smoothing of blocks changes neither number nor size of those of a video.
    ...(single ? ['-err_detect', 'crccheck+bitstream+buffer+explode'] : ['-skip_loop_filter', 'all']),
    ...['-f', request.demuxer, ...request.demuxerOptions, '-i', `file:${request.path}`],
  ];
}

/** Picture sizes show in the lines of `framecrc`, also when they change: nothing is scaled back to the first. */
function toCountablePictures({ maxPictures }: DecodePicturesRequest): string[] {
  const rows = '[0:V:0]split[a][b];[a]crop=iw:1:0:0:exact=1[row];[b]crop=1:ih:0:0:exact=1[column]';
  return [
    ...['-filter_complex_threads', '1', '-filter_complex', rows, '-map', '[row]', '-map', '[column]'],
    ...(maxPictures === 1 ? ['-frames:v', '1'] : ['-map', '0:a:0?', '-c:a', 'pcm_u8']),
    // The older spelling of passthrough, which the newest still know.
    ...['-c:v', 'rawvideo', '-vsync', 'passthrough', '-enc_time_base:v', '1:90000', '-autoscale', '0'],
    ...['-f', 'framecrc', 'pipe:1'],
  ];
}
