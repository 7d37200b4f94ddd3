import type { GenerationRequest, Outcome } from './provider.ts';

/** For an adapter that was handed an order of a kind it does not serve: the catalogue should not have let it come so far. */
export function unserved(request: GenerationRequest): Outcome {
  const message = 'The model is not available at the moment.';
  return { status: 'refused', reason: 'credential', message, detail: `no ${request.kind} at this provider` };
}
