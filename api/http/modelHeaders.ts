/** Headers that name the answering model and the time that this service added (API-13). */
import type { Model } from '../../domain/catalogue/model.ts';
import type { NamedModel } from '../models.ts';
import { headerText } from './headerText.ts';
import type { RouteRequest } from './route.ts';

export function modelHeaders(
  request: Pick<RouteRequest<unknown, unknown, 'key'>, 'overheadMs'>,
  { model, headers }: NamedModel<Model>,
): Record<string, string> {
  return {
    ...headers,
    'x-service-model-id': model.id,
    'x-service-model-name': headerText(model.name),
    'x-service-model-router': model.provider,
    'x-service-overhead-ms': request.overheadMs().toFixed(1),
  };
}
