/** Answer about a failed job: the same message each time, in the shape of its kind of job (JOB-7). */
import type { Model } from '../../domain/catalogue/model.ts';
import { type ErrorCode, isErrorCode } from '../../domain/errors.ts';
import { isOffline } from '../../domain/modelAccess.ts';
import type { Config } from '../../infra/config/config.ts';
import type { JobRow } from '../../infra/postgres/jobs.ts';
import { type Answer, json } from '../http/answer.ts';
import { FAILURE_STATUS } from './jobFailures.ts';

/** The refund was committed before this answer. */
export function jobFailureAnswer(config: Config, job: JobRow): Answer {
  const code: ErrorCode = isErrorCode(job.failureCode) ? job.failureCode : 'provider_failed';
  const status = FAILURE_STATUS[code];
  const message = job.failureMessage ?? 'The job failed.';
  const refunded = job.refundId !== null;
  if (code === 'provider_refused' && job.kind === 'audio') {
    const suggestion = job.suggestedPrompt === null ? {} : { suggested_prompt: job.suggestedPrompt };
    return json({ error: message, ...suggestion }, { status });
  }
  if (code === 'provider_refused' && job.kind === 'video') {
    const recommended = recommendedInstead(config, job);
    const error = {
      message,
      type: 'provider_content_policy',
      credits_refunded: refunded,
      ...(recommended === undefined ? {} : { recommended_model: recommended }),
    };
    return json({ error }, { status });
  }
  return json({ error: message, credits_refunded: refunded }, { status });
}

/**
 * Model to try instead, since another provider has another policy: the first callable one of the same type and task.
 */
function recommendedInstead(config: Config, job: JobRow): string | undefined {
  const refusedBy = config.modelCatalogue.byId.get(job.modelId);
  const task = taskOf(refusedBy);
  return config.modelCatalogue.models.find(
    (model) =>
      model.kind === 'video' && model.provider !== job.provider && taskOf(model) === task && !isOffline(model, config),
  )?.id;
}

function taskOf(model: Model | undefined): string | undefined {
  return model?.kind === 'video' ? model.spec.constraints?.model_type : undefined;
}
