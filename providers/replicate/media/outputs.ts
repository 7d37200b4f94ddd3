/** What the service's models answer: an address, a list of them, or an object that names some. */
import { garbage } from '../../shared/textFailures.ts';
import { outputAddress, outputAddresses } from '../outputAddress.ts';

/** Throws UpstreamFailure where there is none. */
export function imageUrls(output: unknown): string[] {
  const found = addressesOf(output);
  if (found.length === 0) throw garbage('the output names no picture');
  return found;
}

export function speechUrl(output: unknown): string {
  const found = inlineOf(output)[0] ?? outputAddress(output, 'audio');
  if (found === undefined) throw garbage('the output names no recording');
  return found;
}

function addressesOf(output: unknown): string[] {
  const inline = inlineOf(output);
  return inline.length > 0 ? inline : outputAddresses(output);
}

/** A prediction that was waited for may have small files in its answer, as the service's own client knows. */
function inlineOf(output: unknown): string[] {
  const all: unknown[] = Array.isArray(output) ? output : [output];
  return all.filter((each): each is string => typeof each === 'string' && each.startsWith('data:'));
}

/** Some answer the text alone, whole or in the pieces in which it was made. */
export function transcriptOf(output: unknown): unknown {
  if (typeof output === 'string') return { text: output };
  const pieces = Array.isArray(output) && output.every((each) => typeof each === 'string');
  return pieces ? { text: output.join('') } : output;
}
