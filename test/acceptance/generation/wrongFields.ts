/** Orders with exactly one invalid field, which is refused before any medium is read. */

export interface WrongField {
  name: string;
  path: string;
  /** JSON object, or text for values without JSON form. */
  body: object | string;
  /** Expected path of the issue, joined by dots. It may continue. */
  at: string;
}

/** Never fetched, because the order is refused first. */
const URL = 'http://example.com/x';
const MUSIC = { model: 'any-music', prompt: 'A tram at dawn' };
const VIDEO = { model: 'any-video', prompt: 'A tram', duration: '5s' };
const UPSCALE = { model: 'upscale-video', video_url: URL };

type Values = readonly (readonly [field: string, ...values: unknown[]])[];

function rows(path: string, base: object, values: Values): WrongField[] {
  return values.flatMap(([field, ...wrong]) =>
    wrong.map((value) => ({
      name: `${path}: ${field} ${shown(value)} of ${(base as { model: string }).model}`,
      path,
      body: { ...base, [field]: value },
      at: field,
    })),
  );
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 60 ? `${text.slice(0, 40)}… (${text.length})` : text;
}

/** Writes the value into the text as it is, e.g. `1e400`. */
function unspeakable(path: string, base: object, [field, text]: [string, string]): WrongField {
  const body = `${JSON.stringify(base).slice(0, -1)},"${field}":${text}}`;
  return { name: `${path}: ${field} ${text.slice(0, 60)}`, path, body, at: field };
}

function times(count: number, value: unknown = URL): unknown[] {
  return Array.from({ length: count }, () => value);
}

const NO_BOOLEANS = ['true', 1, null] as const;
const NO_STRENGTHS = [-0.001, 1.001, '0.5', null] as const;

const AUDIO_FIELDS: Values = [
  ['prompt', 5, null, '', 'ab', '  a  ', 'p'.repeat(101), '🎵'.repeat(101), 'p'.repeat(100_001), ['A tram']],
  ['lyrics_prompt', 5, null, '', 'l'.repeat(21)],
  ['duration_seconds', 0, -1, 1, 31, 1.5, 1e9, '1.5', '5s', '05', '٥', ' 5', '', '1e1', null, true, [5]],
  ['force_instrumental', ...NO_BOOLEANS],
  ['lyrics_optimizer', ...NO_BOOLEANS],
  ['loop', ...NO_BOOLEANS],
  ['voice', 'nobody', '', 5, null, '../alto', 'v'.repeat(513)],
  ['language_code', 'eng', 'e', 'é1', '', 5],
  ['speed', 0, 0.499, 2.001, -1, '1', null],
  ['seed', 1],
  ['model', 'bare-video', 'some-voice'],
];

/** Options that the model does not have. */
const NO_AUDIO_OPTIONS: Values = [
  ['lyrics_prompt', 'La la'],
  ['duration_seconds', 5],
  ['force_instrumental', true],
  ['lyrics_optimizer', true],
  ['loop', true],
  ['voice', 'alto'],
  ['language_code', 'en'],
  ['speed', 1],
];

const AUDIO: WrongField[] = [
  ...rows('/audio/queue', MUSIC, AUDIO_FIELDS),
  ...rows('/audio/queue', { ...MUSIC, lyrics_optimizer: true }, [['lyrics_prompt', 'La la']]),
  ...rows('/audio/queue', { model: 'piece-music', prompt: 'A tram' }, NO_AUDIO_OPTIONS),
  unspeakable('/audio/queue', MUSIC, ['speed', '1e400']),
  unspeakable('/audio/queue', MUSIC, ['duration_seconds', '1e400']),
  ...rows('/audio/quote', { model: 'letter-music' }, [['character_count', undefined, 0, -1, 1.5, 101, '9', null, 1e9]]),
  ...rows('/audio/quote', { model: 'letter-music', character_count: 9 }, [['duration_seconds', 5]]),
  ...rows('/audio/quote', { model: 'any-music' }, [['duration_seconds', 0, 1, 31, '5s', null]]),
  ...rows('/audio/quote', { model: 'tier-music' }, [['duration_seconds', 31]]),
  ...rows('/audio/quote', { model: 'any-music' }, [['prompt', 'A tram at dawn']]),
];

const DURATIONS = [
  ...['5', '5s ', ' 5s', '5S', '05s', '1e9s', '-1s', '٥s', '5.5s', '0s', '11s', '31s', '', 'auto', '5s\u0000'],
  ...[5, null, ['5s'], {}, true],
];
/** Invalid durations where the source decides: only its own seconds are allowed. */
const HINTS = ['Auto', '-1', '0', '0s', '301', '300.1', '1e2', '5 s', 5];

/** Camera path of two points, the second with `point`. */
const way = (point: object) => [
  { time: 0, azimuth: 0, elevation: 0, distance: 1 },
  { time: 1, azimuth: 90, elevation: 0, distance: 1, ...point },
];
const turn = (time: number, azimuth: number) => ({ time, azimuth, elevation: 0, distance: 1 });

const CAMERA: Values = [
  [
    'camera_trajectory',
    ...[5, null, {}, [], [turn(0, 0)], Array.from({ length: 13 }, (_, place) => turn(place / 12, 0))],
    ...[way({ time: -0.001 }), way({ time: 1.001 }), way({ time: 0 }), way({ time: '1' }), way({ time: null })],
    ...[way({ elevation: -90.001 }), way({ elevation: 90.001 }), way({ distance: 0 }), way({ distance: -1 })],
    ...[way({ distance: 1_001 }), way({ azimuth: 1e6 }), way({ roll: 1 }), [turn(0, 0), {}]],
    ...[
      [turn(0, 0), turn(0.5, 11_521)],
      [turn(0, 0), turn(0.5, 6_000), turn(1, 0)],
    ],
  ],
];

const frame = (index: unknown, more: object = { image_url: URL }) => ({ frame_index: index, ...more });

const LISTS: Values = [
  ['reference_image_urls', URL, null, [], [5], [null], [''], times(31), times(10_000)],
  ['reference_video_urls', URL, [], [5], times(5), times(11)],
  ['reference_audio_urls', URL, [], [5], times(1), times(3), times(11)],
  ['reference_document_urls', URL, [], [5], times(2)],
  ['scene_image_urls', URL, [], [5], times(5)],
  [
    'elements',
    ...[{}, [], [5], [{}], [{ reference_image_urls: [URL] }], times(5, { frontal_image_url: URL })],
    ...[[{ frontal_image_url: URL, reference_image_urls: times(4) }], [{ video_url: 'ftp://example.com/x' }]],
    ...[[{ frontal_image_url: URL, reference_image_urls: [] }], [{ frontal_image_url: URL, more: 1 }]],
  ],
  [
    'keyframes',
    ...[{}, [], [5], [{}], [frame(-1)], [frame(1.5)], [frame('1')], [frame(null)], [frame(121)], [frame(1e9)]],
    ...[[frame(5), frame(5)], [frame(5, {})], [frame(5, { image_url: 'file:///etc/passwd' })]],
    Array.from({ length: 11 }, (_, index) => frame(index)),
  ],
];

const MEDIA_FIELDS = ['image_url', 'end_image_url', 'audio_url', 'video_url'] as const;

const NO_ADDRESSES = [
  ...[5, null, '', [URL], 'file:///etc/passwd', 'ftp://example.com/x', '//example.com/x', 'blob:x', '/x'],
  ...['data:image/png,AAAA', 'data:image/png;base64,', 'data:image/png;base64,AA*A', 'data:image/png;base64,ü'],
  ...['data:', `${URL}${'x'.repeat(8_192)}`],
];

const VIDEO_FIELDS: Values = [
  ['prompt', 5, null, '', '   ', 'p'.repeat(41), '🎵'.repeat(41), 'p'.repeat(20_001)],
  ['negative_prompt', 5, null, 'p'.repeat(20_001)],
  ['duration', ...DURATIONS],
  ['aspect_ratio', 5, null, '', '3:4', '16:10', '16 : 9'],
  ['resolution', 5, null, '', '720p', '8k', '256P'],
  ['audio', ...NO_BOOLEANS],
  ['bitrate_mode', 'low', 5, null],
  ['omni_reference_task_type', 'stitch', 'edit', 'extend', 'extension', 'cut', '', 5],
  ['consents', {}, { seedance: {} }, true],
  ['image_references', [URL]],
  ['camera_trajectory', way({})],
  ...LISTS,
];

const CONFIRMED = { confirmed_terms_and_privacy: true, confirmed_legal_right: true };

const UPSCALE_FIELDS: Values = [
  ['video_url', undefined],
  ['upscale_factor', 0, 3, 1.5, 8, '2', null],
  ['enhancement_model', 'nobody', '', 5],
  ['target_fps', 15, 121, 30.5, '30', null],
  ['slowdown_factor', 0, 3, 16, '2'],
  ...['compression', 'creativity', 'halo', 'noise', 'realism', 'recover_detail', 'sharp'].map(
    (field) => [field, ...NO_STRENGTHS] as const,
  ),
  ['grain', -0.001, 0.1001],
  ['softness', 0.999, 5.001],
  ['h264_output', ...NO_BOOLEANS],
  ['output_format', 'avi', 5],
  ['resolution', '1080p'],
  ['aspect_ratio', '16:9'],
  ['prompt', 'A tram'],
  ['duration', ...HINTS],
];

/** Optional fields, for a model that has none of them. */
const NO_OPTIONS: Values = [
  ['negative_prompt', 'Rain'],
  ['audio', true],
  ['bitrate_mode', 'high'],
  ['omni_reference_task_type', 'auto'],
  ['camera_trajectory', way({})],
  ['consents', { seedance: { ...CONFIRMED, confirmed_screening_acknowledged: true } }],
  ...MEDIA_FIELDS.map((field) => [field, URL] as const),
  ...['reference_image_urls', 'reference_video_urls', 'reference_document_urls', 'scene_image_urls'].map(
    (field) => [field, [URL]] as const,
  ),
  ['reference_audio_urls', [URL]],
  ['elements', [{ frontal_image_url: URL }]],
  ['keyframes', [frame(0)]],
  ['upscale_factor', 2],
  ['enhancement_model', 'sharpener'],
  ['target_fps', 30],
  ['slowdown_factor', 2],
  ['sharp', 0.5],
  ['grain', 0.05],
  ['softness', 2],
  ['h264_output', true],
  ['output_format', 'mp4'],
];

const VIDEOS: WrongField[] = [
  ...rows('/video/queue', VIDEO, VIDEO_FIELDS),
  ...rows('/video/queue', { ...VIDEO, image_url: URL }, CAMERA),
  ...MEDIA_FIELDS.flatMap((field) =>
    rows('/video/queue', { ...VIDEO, ...(field === 'end_image_url' && { image_url: URL }) }, [
      [field, ...NO_ADDRESSES],
    ]),
  ),
  ...rows('/video/queue', VIDEO, [
    ['end_image_url', URL],
    ['model', 'any-music', 'some-voice'],
  ]),
  ...rows('/video/queue', { model: 'any-video', prompt: 'A tram' }, [['duration', undefined]]),
  ...rows('/video/queue', { model: 'any-video', duration: '5s' }, [['prompt', undefined]]),
  ...rows('/video/queue', { model: 'face-video', prompt: 'A tram', duration: '5s' }, [
    ['consents', 'yes', { seedance: CONFIRMED }, { seedance: { ...CONFIRMED, more: true } }, { other: {} }],
  ]),
  ...rows('/video/queue', UPSCALE, UPSCALE_FIELDS),
  ...rows('/video/queue', { ...UPSCALE, enhancement_model: 'cleaner' }, [['upscale_factor', 2, 4]]),
  ...rows('/video/queue', { model: 'bare-video', prompt: 'A tram', duration: '5s' }, NO_OPTIONS),
  unspeakable('/video/queue', VIDEO, [
    'camera_trajectory',
    '[{"time":0,"azimuth":1e400,"elevation":0,"distance":1},{"time":1,"azimuth":0,"elevation":0,"distance":1}]',
  ]),
  unspeakable('/video/queue', VIDEO, ['keyframes', `[{"image_url":"${URL}","frame_index":1e400}]`]),
  unspeakable('/video/queue', UPSCALE, ['target_fps', '1e400']),
  ...rows('/video/quote', { model: 'any-video', duration: '5s' }, [
    ['duration', ...DURATIONS.slice(0, 8), undefined],
    ['resolution', '720p', 5],
    ['reference_video_total_duration', -1, 6.1, '5'],
    ['reference_image_count', -1, 31, 1.5],
    ['prompt', 'A tram'],
  ]),
  ...rows('/video/quote', { model: 'upscale-video' }, [['video_url', undefined, 'file:///etc/passwd', 'data:,x']]),
];

export const WRONG_FIELDS: readonly WrongField[] = [...AUDIO, ...VIDEOS];
