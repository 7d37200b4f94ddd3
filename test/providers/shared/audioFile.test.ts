import { describe, expect, it } from 'vitest';
import { audioContentType } from '../../../providers/shared/audioFile.ts';

const cases: [string, string, string | undefined][] = [
  ['MP3 with a tag', '49443303000000000000', 'audio/mpeg'],
  ['a bare MP3 frame', 'fffb90c000000000', 'audio/mpeg'],
  ['a bare MPEG-2 frame', 'fff384c400000000', 'audio/mpeg'],
  ['ADTS', 'fff1508000000000', 'audio/aac'],
  ['WAV', '524946460000000057415645', 'audio/wav'],
  ['Ogg', '4f676753', 'audio/ogg'],
  ['FLAC', '664c6143', 'audio/flac'],
  ['MP4', '000000206674797069736f6d', 'audio/mp4'],
  ['Matroska', '1a45dfa3', 'audio/webm'],
  ['nothing', '', undefined],
  ['RIFF of another kind', '524946460000000041564920', undefined],
  ['HTML', '3c68746d6c3e', undefined],
  ['PNG', '89504e470d0a1a0a', undefined],
  ['a reserved MPEG version', 'ffeb90c0', undefined],
  ['a bad bitrate', 'fffbf0c0', undefined],
  ['a reserved sample rate', 'fffb9cc0', undefined],
  ['UTF-16 text', 'fffe3c00', undefined],
  ['two bytes of a frame', 'fffb', undefined],
];

describe('the first bytes of a file', () => {
  it.each(cases)('%s (%s) is %s', (_, hex, expected) => {
    expect(audioContentType(Buffer.from(hex, 'hex'))).toBe(expected);
  });
});
