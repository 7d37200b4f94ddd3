/**
 * Decodes the pictures and sound of a file, and measures number, size and time of the pictures. Only one row and one
 * column of each picture leave the decoder, whose byte counts give width and height.
 */
import { readDecodeLog } from './decodeLog.ts';
import { createFrameCount, type FrameCount } from './frameCount.ts';
import { type FfmpegEnd, runFfmpeg } from './runFfmpeg.ts';

export interface DecodePicturesRequest {
  ffmpegPath: string;
  path: string;
  demuxer: string;
  demuxerOptions: readonly string[];
  /** The only permitted decoders. */
  decoders: readonly string[];
  /** Larger pictures are not decoded. */
  maxPixels: number;
  /** Decoding stops soon after this many pictures. 1 means a still image. */
  maxPictures: number;
  /** Decoding stops soon after this length. */
  maxSeconds: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface DecodedPictures extends FrameCount {
  end: FfmpegEnd;
  /** Number of packets that the decoder refused. */
  failedPackets: number;
  /** The demuxer failed before the end of the file. */
  broken: boolean;
}

const THREADS = 2;
/** Four colours of 16 bits. Alignment is added. */
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
    // Rotation is read from the header, because rotating every picture would cost more than decoding it.
    ...['-noautorotate', '-flags2', '+skip_manual'],
    // A still image fails on any error. Skipping the deblocking filter keeps number and size of a video's pictures.
    ...(single ? ['-err_detect', 'crccheck+bitstream+buffer+explode'] : ['-skip_loop_filter', 'all']),
    ...['-f', request.demuxer, ...request.demuxerOptions, '-i', `file:${request.path}`],
  ];
}

/** Lines of `framecrc` show every change of size, because nothing is scaled to the first size. */
function toCountablePictures({ maxPictures }: DecodePicturesRequest): string[] {
  const rows = '[0:V:0]split[a][b];[a]crop=iw:1:0:0:exact=1[row];[b]crop=1:ih:0:0:exact=1[column]';
  return [
    ...['-filter_complex_threads', '1', '-filter_complex', rows, '-map', '[row]', '-map', '[column]'],
    ...(maxPictures === 1 ? ['-frames:v', '1'] : ['-map', '0:a:0?', '-c:a', 'pcm_u8']),
    // Old name of the passthrough option, which the newest versions still accept.
    ...['-c:v', 'rawvideo', '-vsync', 'passthrough', '-enc_time_base:v', '1:90000', '-autoscale', '0'],
    ...['-f', 'framecrc', 'pipe:1'],
  ];
}
