/** Background removal on this machine: no key, no network, and nothing that was learnt. Priced by us. */
import { DEFAULT_CREATED, type ImageModel } from '../model.ts';
import { price } from './entry.ts';

export const LOCAL_CUTOUT: ImageModel = {
  kind: 'image',
  type: 'image',
  imageUse: 'cutout',
  id: 'local-cutout',
  provider: 'local',
  upstreamModel: 'edge-colours',
  privacy: 'private',
  name: 'Local Cutout',
  description:
    'Removes the background of a picture on this machine, with no learned model: the colours along the edges of the ' +
    'picture are taken for the background, and what differs from them for the subject. It does not know what things are: ' +
    'it works where a clear subject stands before a plain background, and is weak on crowded scenes, on subjects that ' +
    'fill the picture, on hair and fur, and where both sides have the same colours. A picture in which no subject is ' +
    'found is refused and not charged.',
  modelSource: '',
  created: DEFAULT_CREATED,
  spec: { pricing: { generation: price(0.002) } },
};
