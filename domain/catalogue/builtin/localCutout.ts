/** Background removal on this machine: no key, no network, and nothing that was learnt. Priced by us. */
import { DEFAULT_CREATED, type ImageModel } from '../model.ts';
import { price } from './entry.ts';

export const LOCAL_CUTOUT: ImageModel = {
  kind: 'image',
  type: 'image',
  imageUse: 'cutout',
  id: 'local-cutout',
  provider: 'local',
  upstreamModel: 'grabcut',
  privacy: 'private',
  name: 'Local Cutout',
  description:
    'Removes the background of a picture on this machine, with no learned model: GrabCut from a start found by contrast ' +
    'to the edges of the picture, then a soft edge for hair and fur. It does not know what things are: it works where ' +
    'the subject differs from the background in colour and stands near the middle, and is weak on crowded scenes, on ' +
    'subjects that fill the picture, on openings in a subject, and where both sides have the same colours. A picture in which no subject is found ' +
    'is refused and not charged.',
  modelSource: '',
  created: DEFAULT_CREATED,
  spec: { pricing: { generation: price(0.002) } },
};
