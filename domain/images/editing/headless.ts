/** Clauses that name no operation: "16:9", "make it square", "800x600", "2x", "turn left", "make it grey". */
import { cropSteps, padStep, resizeStep, rotateStep } from './geometry.ts';
import type { EditStep } from './plan.ts';
import { type Reading, refuseRest } from './reading.ts';
import { notPossible } from './refusal.ts';

export function headless(reading: Reading): EditStep[] {
  const { marks, colours } = reading;
  if (isTurn(reading)) return [rotateStep(reading)];
  if ((marks.has('fit') || marks.has('bars')) && reading.ratio !== undefined) return [padStep(reading)];
  if (reading.ratio !== undefined || marks.has('square') || marks.has('widescreen'))
    return cropSteps(reading);
  if (isSize(reading)) return [resizeStep(reading)];
  if (colours.length === 1 && /^gr[ae]y$/.test(colours[0]?.name ?? '')) {
    colours.length = 0;
    return [{ do: 'grey' }];
  }
  // The rest names what could not be used; when there is none, nothing was said at all.
  refuseRest(reading);
  throw notPossible('it does not say what to do');
}

function isTurn({ marks, places, amounts }: Reading): boolean {
  if (marks.has('upsidedown') || marks.has('clockwise') || marks.has('counterclockwise')) return true;
  if (amounts.some(({ unit }) => unit === 'degrees')) return true;
  return (marks.has('turn') || marks.has('turned')) && (places.size > 0 || amounts.length > 0);
}

function isSize({ marks, places, amounts, colours, degree, size }: Reading): boolean {
  if (size || amounts.some(({ unit, noun }) => unit === 'px' || unit === 'times' || noun !== undefined))
    return true;
  const isAlone = places.size === 0 && marks.size === 0 && colours.length === 0;
  const isBig = degree === undefined || /^(?:big|large|small|wide)$/.test(degree.word);
  return isAlone && isBig && amounts[0]?.unit === '%';
}
