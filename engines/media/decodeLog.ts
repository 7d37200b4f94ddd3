/** Parses the log of a decoding run: streams of the input, and errors. */

/** Indented by two or four, by version. A forged tag can only add a stream, and extra streams are refused. */
const STREAM = /^\[info\] {3,5}Stream #0:\d+\S*: (\w+): (\w+)(.*)$/;
const FAILED_PACKET = /\[error\] (Error while decoding|Error submitting|Decoding error)/;
const BROKEN = /(corrupt input packet|partial file|ended prematurely|\[error\] (file:.*: |Error during demuxing))/;

export function readDecodeLog() {
  const result = { streams: [] as string[], codec: '', failedPackets: 0, broken: false };
  let inInput = false;
  const line = (text: string) => {
    if (text.startsWith('[info] Input #0')) inInput = true;
    if (text.startsWith('[info] Stream mapping')) inInput = false;
    const stream = inInput ? STREAM.exec(text) : null;
    if (stream) {
      const [, kind = '', codec = '', rest = ''] = stream;
      result.streams.push(rest.includes('(attached pic)') ? 'picture' : kind.toLowerCase());
      if (kind === 'Audio') result.codec ||= codec;
    }
    if (FAILED_PACKET.test(text)) result.failedPackets += 1;
    if (BROKEN.test(text)) result.broken = true;
  };
  return { line, result };
}
