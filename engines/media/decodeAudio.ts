/** Decodes the first audio stream of a file and counts its samples. Timestamps and headers are ignored. */
import { readDecodeLog } from './decodeLog.ts';
import { runFfmpeg } from './runFfmpeg.ts';

export interface DecodeRequest {
  ffmpegPath: string;
  path: string;
  demuxer: string;
  demuxerOptions: readonly string[];
  /** The only permitted decoders. */
  decoders: readonly string[];
  /** Decoding stops soon after this length. */
  maxSeconds: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface DecodedAudio {
  end: 'finished' | 'failed' | 'timed_out' | 'aborted' | 'stopped';
  /** Kinds of the file's streams as ffmpeg names them. A cover picture is `picture`. */
  streams: string[];
  codec: string;
  sampleRate: number;
  channels: number;
  seconds: number;
  /** Number of packets that the decoder refused. */
  failedPackets: number;
  /** The demuxer failed before the end of the file. */
  broken: boolean;
}

/** Eight-bit samples in native rate and channels, after a WAV header with both. */
const TO_COUNTABLE_SAMPLES = [
  '-map',
  '0:a:0',
  '-map_metadata',
  '-1',
  '-c:a',
  'pcm_u8',
  '-bitexact',
  '-f',
  'wav',
  'pipe:1',
];

export async function decodeAudio(request: DecodeRequest): Promise<DecodedAudio> {
  const log = readDecodeLog();
  const counter = countSamples(request.maxSeconds);
  const end = await runFfmpeg({
    ffmpegPath: request.ffmpegPath,
    arguments: [...input(request), ...TO_COUNTABLE_SAMPLES],
    timeoutMs: request.timeoutMs,
    maxFileBytes: 0,
    signal: request.signal,
    onLog: log.line,
    onOutput: counter.piece,
  });
  return { end, ...log.result, ...counter.result() };
}

function input(request: DecodeRequest): string[] {
  return [
    ...['-threads', '1', '-protocol_whitelist', 'file,pipe', '-max_streams', '16'],
    // Keeps encoder delay and padding, because their lengths in the file are claims too.
    ...['-flags2', '+skip_manual', '-codec_whitelist', request.decoders.join(',')],
    ...['-f', request.demuxer, ...request.demuxerOptions, '-i', `file:${request.path}`],
  ];
}

const MAX_WAV_HEAD = 4_096;

function countSamples(maxSeconds: number) {
  let head: Buffer | undefined = Buffer.alloc(0);
  let format = { sampleRate: 0, channels: 0 };
  let bytes = 0;
  const seconds = () => (bytes === 0 ? 0 : bytes / format.channels / format.sampleRate);
  const piece = (chunk: Buffer): boolean => {
    if (head === undefined) {
      bytes += chunk.length;
      return seconds() <= maxSeconds;
    }
    head = Buffer.concat([head, chunk]);
    const parsed = wavHead(head);
    if (parsed === undefined) return head.length <= MAX_WAV_HEAD;
    format = parsed;
    bytes = head.length - parsed.dataStart;
    head = undefined;
    return true;
  };
  return { piece, result: () => ({ ...format, seconds: seconds() }) };
}

function wavHead(head: Buffer): { sampleRate: number; channels: number; dataStart: number } | undefined {
  const format = head.indexOf('fmt ');
  const data = head.indexOf('data', 36);
  if (format < 0 || data < 0 || data + 8 > head.length) return undefined;
  return {
    channels: head.readUInt16LE(format + 10),
    sampleRate: head.readUInt32LE(format + 12),
    dataStart: data + 8,
  };
}
