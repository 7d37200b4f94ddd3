/** Minimal model entries for tests. */
import type { MusicModel, VideoInputs, VideoModel, VideoPrice } from '../../../domain/catalogue/model.ts';
import type { MusicSpec, PublishedPrice, VideoSpec } from '../../../domain/catalogue/specs.ts';

const base = {
  provider: 'simulator',
  privacy: 'private',
  description: '',
  modelSource: '',
  created: 0,
} as const;

export function usd(amount: number): PublishedPrice {
  return { usd: amount, diem: amount };
}

export function music(spec: Partial<MusicSpec>): MusicModel {
  const own = { id: 'tune', upstreamModel: 'tune', name: 'Tune' };
  return {
    ...base,
    ...own,
    kind: 'music',
    type: 'music',
    spec: { pricing: { generation: usd(0.1) }, ...spec },
  };
}

type Constraints = NonNullable<VideoSpec['constraints']>;

export interface VideoEntry {
  constraints?: Partial<Constraints>;
  inputs?: VideoInputs;
  price?: VideoPrice;
}

export function video({ constraints, inputs, price }: VideoEntry = {}): VideoModel {
  const own = { id: 'film', upstreamModel: 'film', name: 'Film' };
  return {
    ...base,
    ...own,
    kind: 'video',
    type: 'video',
    price: price ?? { perSecond: { any: usd(0.02) } },
    ...(inputs ? { inputs } : {}),
    spec: {
      constraints: {
        model_type: 'text-to-video',
        durations: ['5s', '10s'],
        resolutions: ['480p', '720p'],
        aspect_ratios: ['16:9', '1:1'],
        ...constraints,
      },
    },
  };
}
