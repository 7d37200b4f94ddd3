/**
 * Image edits, enlargements and cutouts by an image library on this machine, without a trained model. A prompt that
 * names an unknown edit is refused before the charge.
 */
import { join } from 'node:path';
import { completePlan } from '../../../domain/images/editing/measure.ts';
import type { EditPlan } from '../../../domain/images/editing/plan.ts';
import { contradiction } from '../../../domain/images/editing/refusal.ts';
import { planEdit } from '../../../domain/images/editPrompt.ts';
import { SOURCE_PIXELS } from '../../../domain/images/images.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { ImageWork } from '../../../engines/images/imageWork.ts';
import type { Cutout, Enlargement, ImageEdit, MediaCallContext, MediaProvider } from '../../shared/mediaProvider.ts';
import { FONT_PATH, shippedFont } from '../video/fontWidths.ts';

export function createLocalImages(work: ImageWork): MediaProvider {
  return {
    readsAll: true,
    checkEdit(edit) {
      planOf(edit);
    },
    editImage: (edit, context) => editImage(work, edit, context),
    enlarge: (enlargement, context) => enlarge(work, enlargement, context),
    cutOut: (cutout, context) => cutOut(work, cutout, context),
  };
}

/** Throws FareboxError if the edit is impossible. */
function planOf({ prompt, images, aspectRatio, isRatioInferred, resolution }: ImageEdit): EditPlan {
  const plan = planEdit(prompt, images.length);
  for (const step of plan) {
    for (const each of step.do === 'mask' ? step.steps : [step]) {
      if (each.do === 'text') refuseUnknownSigns(each.text);
    }
  }
  const [base] = images;
  if (!base) throw contradiction('it needs an image');
  return completePlan(plan, base, {
    // An inferred ratio is already that of the image.
    ...(aspectRatio !== undefined && isRatioInferred !== true && { aspectRatio }),
    ...(resolution !== undefined && { resolution }),
  });
}

/** Refuses characters that the shipped font lacks: they would appear in another font of the machine, or as boxes. */
function refuseUnknownSigns(text: string): void {
  const font = shippedFont();
  if ([...text].every((sign) => font.has(sign.codePointAt(0) ?? 0))) return;
  throw contradiction(
    'the text has a character that the font lacks; it has Latin, Greek, Cyrillic and some other scripts, and no emoji',
  );
}

async function editImage(work: ImageWork, edit: ImageEdit, { workFolder, signal }: MediaCallContext) {
  const input = {
    plan: planOf(edit),
    images: edit.images.map(({ path }) => path),
    maxPixels: SOURCE_PIXELS.most,
    fontPath: FONT_PATH,
    format: edit.format,
    target: join(workFolder, `edited.${edit.format}`),
  };
  const { path, contentType } = await work.run('edit', input, { signal });
  return { path, contentType };
}

/** Enlarges by `scale`, or by less if the result would exceed the pixel limit. */
async function enlarge(work: ImageWork, { image, scale }: Enlargement, { workFolder, signal }: MediaCallContext) {
  const most = Math.sqrt(SOURCE_PIXELS.most / (image.width * image.height));
  const factor = Math.max(1, Math.min(scale, most));
  const input = {
    path: image.path,
    target: join(workFolder, 'enlarged.png'),
    maxPixels: SOURCE_PIXELS.most,
    width: Math.floor(image.width * factor),
    height: Math.floor(image.height * factor),
  };
  const { path, contentType } = await work.run('enlarge', input, { signal });
  return { path, contentType };
}

const NO_CUT_OUT = {
  transparent: 'The image is transparent all over: there is nothing in it to cut out.',
  no_subject:
    'No subject was found in the image: nothing in it differs clearly from its background. Try a picture in which ' +
    'the subject stands out, or another model.',
};

async function cutOut(work: ImageWork, { image }: Cutout, { workFolder, signal }: MediaCallContext) {
  const input = { path: image.path, target: join(workFolder, 'cutout.png'), maxPixels: SOURCE_PIXELS.most };
  const made = await work.run('cutOut', input, { signal });
  if ('none' in made) {
    throw new UpstreamFailure({
      reason: 'refused',
      detail: `cutout: ${made.none}`,
      message: NO_CUT_OUT[made.none],
    });
  }
  return { path: made.path, contentType: made.contentType };
}
