/**
 * What the offline edit model understands of a prompt: English clauses, each naming one operation of an image library.
 * All of it is understood, or the whole prompt is refused; nothing is guessed and nothing is left out.
 */
import { type Clause, clausesOf } from './editing/clauses.ts';
import { borderStep, cropSteps, flipSteps, padStep, resizeStep, rotateStep } from './editing/geometry.ts';
import { headless } from './editing/headless.ts';
import { isLayer, layerStep, type Mask, takeMask, textStep } from './editing/layers.ts';
import type { Head } from './editing/lexicon.ts';
import { type EditPlan, type EditStep, isSurface, MOST_STEPS, type SurfaceStep } from './editing/plan.ts';
import { type Reading, readClause, refuseRest } from './editing/reading.ts';
import { contradiction, notPossible } from './editing/refusal.ts';
import { type Token, wordOf } from './editing/tokens.ts';
import { plainStep, toneStep } from './editing/tones.ts';

/** One clause: what it does, and the mask within which it does it. A mask without a step is for what follows. */
interface Deed {
  steps: EditStep[];
  mask?: Mask;
  cutsOut: boolean;
  isLoose: boolean;
}

/**
 * `images`: how many came with the prompt. Throws FareboxError for a prompt that is not understood, that contradicts
 * itself, that would change nothing, or that leaves an image without use.
 */
export function planEdit(prompt: string, images: number): EditPlan {
  const clauses = inherited(clausesOf(prompt));
  if (clauses.length > MOST_STEPS) throw contradiction(`it asks for more than ${MOST_STEPS} things`);
  const plan = withMasks(clauses.map((clause) => deedOf(clause, images)));
  if (plan.length > MOST_STEPS) throw contradiction(`it asks for more than ${MOST_STEPS} things`);
  if (plan.length === 0) throw notPossible('it names nothing to do');
  if (isUndone(plan)) throw contradiction('it would change nothing');
  refuseUnused(plan, images);
  return plan;
}

interface ReadClause {
  reading: Reading;
  isLoose: boolean;
}

/** "Increase brightness and contrast by 20%": the direction goes on, the amount counts for both. */
function inherited(clauses: readonly Clause[]): ReadClause[] {
  const read = clauses.map(({ tokens, isLoose }) => {
    refuseUnquoted(tokens);
    return { reading: readClause(tokens), isLoose };
  });
  read.forEach(({ reading, isLoose }, index) => {
    const before = read[index - 1]?.reading;
    const direction = before?.direction ?? before?.particle;
    if (!isLoose || !isNounWithoutDirection(reading) || direction === undefined) return;
    reading.direction = direction;
    for (let at = index - 1; at >= 0; at -= 1) {
      const earlier = read[at];
      if (!earlier || !isNoun(earlier.reading) || earlier.reading.amounts.length > 0) break;
      earlier.reading.amounts = reading.amounts.map((amount) => ({ ...amount }));
      if (!earlier.isLoose) break;
    }
  });
  return read;
}

function isNoun({ heads }: Reading): boolean {
  return heads.length === 1 && heads[0]?.head.op === 'tone' && heads[0].head.isNoun === true;
}

function isNounWithoutDirection(reading: Reading): boolean {
  const isTo = reading.amounts.some(({ signed, preposition }) => signed || preposition === 'to');
  return isNoun(reading) && reading.direction === undefined && reading.particle === undefined && !isTo;
}

function deedOf({ reading, isLoose }: ReadClause, images: number): Deed {
  const mask = takeMask(reading, images);
  const cutsOut = mask !== undefined && reading.heads.some(({ head }) => head.op === 'cutout');
  if (cutsOut) reading.heads = reading.heads.filter(({ head }) => head.op !== 'cutout');
  const steps = mask && isBare(reading) ? [] : stepsOf(reading, images);
  refuseRest(reading);
  return { steps, isLoose, cutsOut, ...(mask && { mask }) };
}

/** Nothing but a mask is in it. */
function isBare({ heads, quote, size, ratio, references }: Reading): boolean {
  const isNamed = references.some(({ image }) => image !== 1);
  return heads.length === 0 && quote === undefined && !size && ratio === undefined && !isNamed;
}

function stepsOf(reading: Reading, images: number): EditStep[] {
  if (reading.quote !== undefined) return [textStep(reading)];
  if (isLayer(reading)) return [layerStep(reading, images)];
  const head = reading.heads[0]?.head;
  if (!head) return headless(reading);
  if (head.op === 'tone') {
    const step = toneStep(head, reading);
    keepOtherHeads(reading, head);
    return [step];
  }
  const steps = OF_SEVERAL[head.op]?.(reading) ?? [plainStep(head.op, reading)];
  keepOtherHeads(reading, head);
  const known = steps.filter((step) => step !== undefined);
  if (known.length === 0) throw notPossible('it does not say what to do');

  return known;
}

/** What is left then was asked for too, and is not understood together. */
function keepOtherHeads(reading: Reading, done: Head): void {
  const isSame = (head: Head) =>
    head.op === done.op && (head.op !== 'tone' || (done.op === 'tone' && head.tone === done.tone));
  reading.heads = reading.heads.filter(({ head, word }) => {
    const isOfCrop = done.op === 'crop' && (head.op === 'round' || head.op === 'resize');
    return word !== 'size' && !isSame(head) && !isOfCrop;
  });
}

/** What stands after "write" is a text, and not words of ours. */
function refuseUnquoted(tokens: readonly Token[]): void {
  const isText = tokens.some((token) =>
    /^(?:write|text|caption|title|label|saying|inscribe)$/.test(wordOf(token) ?? ''),
  );
  if (isText && !tokens.some(({ kind }) => kind === 'quote')) {
    throw contradiction('the text needs quotation marks, as in: write "Hello" at the top');
  }
}

const OF_SEVERAL: { [Operation in string]?: (reading: Reading) => EditStep[] } = {
  crop: cropSteps,
  flip: flipSteps,
  pad: (reading) => [padStep(reading)],
  border: (reading) => [borderStep(reading)],
  rotate: (reading) => [rotateStep(reading)],
  resize: (reading) => [resizeStep(reading)],
  text: (reading) => [textStep(reading)],
};

/** Puts the steps of a mask into it. */
function withMasks(deeds: readonly Deed[]): EditStep[] {
  const plan: EditStep[] = [];
  let open: { mask: Mask; steps: SurfaceStep[] } | undefined;
  deeds.forEach((deed, index) => {
    const isLast = index === deeds.length - 1;
    if (deed.mask && deed.steps.length === 0) {
      const next = deeds[index + 1];
      const isForNext = !isLast && !deed.cutsOut && next?.mask === undefined;
      open = isForNext ? { mask: deed.mask, steps: [] } : undefined;
      plan.push(open ? { do: 'masked', ...deed.mask, steps: open.steps } : { do: 'cutout', ...deed.mask });
    } else if (deed.mask) {
      const steps = [...(open ? [] : takeBack(plan, deeds, index)), ...deed.steps];
      open = undefined;
      plan.push({ do: 'masked', ...deed.mask, steps: steps.map(asSurface) });
    } else if (open) {
      open.steps.push(...deed.steps.map(asSurface));
    } else {
      plan.push(...deed.steps);
    }
  });
  return plan;
}

/** "Blur and darken it, using the second image as a mask": both are within the mask. */
function takeBack(plan: EditStep[], deeds: readonly Deed[], from: number): EditStep[] {
  const taken: EditStep[] = [];
  for (let at = from; at > 0 && deeds[at]?.isLoose; at -= 1) {
    const before = deeds[at - 1];
    if (!before || before.mask || !before.steps.every(isSurface)) break;
    taken.unshift(...before.steps);
  }
  plan.length -= taken.length;
  return taken;
}

function asSurface(step: EditStep): SurfaceStep {
  if (isSurface(step)) return step;
  throw contradiction(
    'what changes the size or turns the picture is said before the mask, with "then" between them',
  );
}

/** Flips, half and quarter turns and inversions that take each other back. */
function isUndone(plan: EditPlan): boolean {
  let [turns, flipped, inverted] = [0, false, false];
  for (const step of plan) {
    if (step.do === 'invert') inverted = !inverted;
    else if (step.do === 'flip') {
      // A flip turns the turns before it around; a vertical one is a horizontal one and half a turn.
      flipped = !flipped;
      turns = -turns + (step.axis === 'vertical' ? 180 : 0);
    } else if (step.do === 'rotate' && step.degrees % 90 === 0) turns += step.degrees;
    else if (!(step.do === 'opacity' && step.opacity === 1)) return false;
  }
  return !flipped && !inverted && turns % 360 === 0;
}

function refuseUnused(plan: EditPlan, images: number): void {
  const used = new Set<number>();
  for (const step of plan) {
    const nested = step.do === 'masked' ? step.steps : [];
    for (const each of [step, ...nested]) if ('image' in each) used.add(each.image);
  }
  for (let image = 2; image <= images; image += 1) {
    if (used.has(image)) continue;
    throw contradiction(
      `it does not say what image ${image} is for; say for example "put image ${image} over the first at the bottom ` +
        `right at 30% width" or "use image ${image} as a mask"`,
    );
  }
}
