/**
 * Parses the prompt of the offline edit model: clauses with one verb of a table each, in the order of execution. The
 * whole prompt must be understood, or it is refused; nothing is guessed or dropped.
 */
import { clauseOf, isOption, unreadPart, type Verb } from './editing/clause.ts';
import { type EditPlan, type EditStep, isSurface, MAX_STEPS, type MaskStep } from './editing/plan.ts';
import { contradiction, impossibleEdit } from './editing/refusal.ts';
import { type Token, tokenize } from './editing/tokens.ts';
import { impliedVerb, MASK, verbOf } from './editing/verbs.ts';

interface PromptPart {
  tokens: Token[];
  /** Undefined: the clause neither names nor implies a verb. */
  verb: Verb | undefined;
}

/**
 * `images`: number of images of the request. Throws FareboxError for a prompt that is not understood, contradicts
 * itself, or leaves an image unused.
 */
export function planEdit(prompt: string, images: number): EditPlan {
  const parts = partsOf(tokenize(prompt));
  if (parts.length === 0) throw impossibleEdit('it names nothing to do');
  if (parts.length > MAX_STEPS) throw contradiction(`it asks for more than ${MAX_STEPS} things`);
  const steps = parts.flatMap((part) => stepsOf(part, images));
  refuseUnused(steps, images);
  return intoMasks(steps);
}

/** Clauses between "and", "then" and the like. A clause without a verb may continue the one before. */
function partsOf(tokens: readonly Token[]): PromptPart[] {
  const parts: PromptPart[] = [];
  let piece: Token[] = [];
  let isLoose = false;
  for (const token of [...tokens, END]) {
    if (token.kind !== 'break') {
      piece.push(token);
      continue;
    }
    const last = parts.at(-1);
    if (piece.length > 0) {
      if (isLoose && last?.verb && goesOn(piece, last.verb)) last.tokens.push(...piece);
      else parts.push({ tokens: piece, verb: verbOfPart(piece) });
      piece = [];
      isLoose = true;
    }
    // ", and then": the strictest separator counts.
    isLoose &&= token.isLoose;
  }
  return parts;
}

const END: Token = { kind: 'break', text: '', isLoose: false };

/** "…, in white" and "… and 50% opacity" continue the clause before. */
function goesOn(piece: readonly Token[], verb: Verb): boolean {
  return piece.every((token) => {
    const isNew = token.kind === 'quote' || verbOf(token) !== undefined;
    return !isNew || isOption(verb, token.text) || (token.kind === 'colour' && verb.takes.includes('colour'));
  });
}

function verbOfPart(tokens: readonly Token[]): Verb | undefined {
  const words = tokens.filter(({ kind }) => kind === 'word');
  const named = [...words, ...tokens].map(verbOf).find((verb) => verb !== undefined);
  return named ?? tokens.map(impliedVerb).find((verb) => verb !== undefined);
}

function stepsOf({ tokens, verb }: PromptPart, images: number): EditStep[] {
  const [first] = tokens;
  if (!verb) throw first ? unreadPart(first) : impossibleEdit('it does not say what to do');
  if (verb !== MASK && tokens.some(({ kind, text }) => kind === 'word' && text === 'mask')) {
    throw contradiction('a mask is named before what is done in it, as in "use image 2 as a mask, then blur"');
  }
  return [verb.read(clauseOf(tokens, verb, images))].flat();
}

/** Steps after a mask act within it, until the next mask. */
function intoMasks(steps: readonly EditStep[]): EditPlan {
  const plan: EditStep[] = [];
  let mask: MaskStep | undefined;
  for (const step of steps) {
    if (step.do !== 'mask' && mask) {
      if (!isSurface(step)) throw contradiction(BEFORE_MASK);
      mask.steps.push(step);
      continue;
    }
    if (step.do === 'mask') mask = step;
    plan.push(step);
  }
  return plan;
}

const BEFORE_MASK = 'what changes the size or turns the picture is said before the mask, with "then" between them';

function refuseUnused(steps: readonly EditStep[], images: number): void {
  for (let image = 2; image <= images; image += 1) {
    if (steps.some((step) => 'image' in step && step.image === image)) continue;
    throw contradiction(
      `it does not say what image ${image} is for; say for example "put image ${image} over the first at the bottom ` +
        `right at 30% width" or "use image ${image} as a mask"`,
    );
  }
}
