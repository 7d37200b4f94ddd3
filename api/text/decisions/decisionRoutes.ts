/** POST /decisions and its alias (TEXT-28). */
import type { DecisionModel } from '../../../domain/catalogue/model.ts';
import { textOf } from '../../../domain/decisions/prompt.ts';
import { FareboxError } from '../../../domain/errors.ts';
import { estimateInTurns } from '../../../engines/text/estimateInTurns.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type Answer, json } from '../../http/answer.ts';
import { endUserOf } from '../../http/endUser.ts';
import { invalid } from '../../http/invalid.ts';
import { modelHeaders } from '../../http/modelHeaders.ts';
import { defineRoute } from '../../http/route.ts';
import { requireCallable, requireModel } from '../../models.ts';
import { isDryRun } from '../../paid/dryRun.ts';
import { askModelsInOrder, type CallOrder, DRAIN_MS, noteTokens, requireRecipient, settleCall } from '../modelCall.ts';
import { presentCost } from '../present.ts';
import { type DecisionBody, decisionBody } from './decisionBody.ts';
import { type DecisionPlan, planDecision } from './decisionPlan.ts';
import { DecisionTally, evaluate } from './evaluate.ts';
import { decisionDescription } from './openapi.ts';

/** Many times the size that `maxTotalTokens` allows. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const DEADLINE_MS = 120_000;

type DecisionOrder = CallOrder<DecisionModel, DecisionPlan, DecisionBody>;

const decisionRoute = (path: string, alias: boolean) =>
  defineRoute({
    method: 'POST',
    path,
    access: 'buyer',
    body: {
      json: { schema: decisionBody, maxBytes: MAX_BODY_BYTES },
      needsModel: true,
      modelType: 'decision',
    },
    estimateTokens: estimateOf,
    deadlineMs: DEADLINE_MS,
    describes: decisionDescription(alias),
    async handler(dependencies, request) {
      const { config } = dependencies.core;
      const { model, headers } = requireModel(config, request.body.model, 'decision');
      if (model.kind !== 'decision') throw invalid('model', 'This endpoint takes decision models only');
      requireCallable(config, model, request.caller);
      const plan = await planDecision(config, model, request.body);
      const order: DecisionOrder = {
        ...{ request, attempts: [{ model, headers }], price: () => plan },
        drainMs: () => DRAIN_MS,
      };
      return isDryRun(request) ? dryRun(model, plan) : await decide(dependencies, order);
    },
  });

export const decisionRoutes = [decisionRoute('/decisions', false), decisionRoute('/systemone', true)];

/** Estimated as if each question were one call. */
async function estimateOf({ state, questions }: DecisionBody): Promise<number> {
  const all = Object.values(questions);
  const ofState = await estimateInTurns([textOf(state)]);
  return all.length * ofState + (await estimateInTurns(all.map((question) => JSON.stringify(question))));
}

function dryRun(model: DecisionModel, { bound, promptTokens, completionTokens }: DecisionPlan): Answer {
  const tokens = { prompt_tokens: promptTokens, completion_tokens: completionTokens };
  return json({ object: 'dry_run', bounds: [{ model: model.id, cost: presentCost(bound), ...tokens }] });
}

async function decide(dependencies: Dependencies, order: DecisionOrder): Promise<Answer> {
  const { request } = order;
  const endUser = endUserOf(request.caller.accountId, undefined);
  return await askModelsInOrder(dependencies, order, async (call) => {
    const { model } = call.attempt;
    const { complete } = call.provider;
    if (!complete) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} is offline.` });
    const tally = new DecisionTally();
    try {
      const answers = await request.waitFor(evaluate({ call, complete, endUser, tally }));
      requireRecipient(request);
      const settled = await settleCall(call, tally.sum());
      await noteTokens(request, settled);
      const usage = {
        input_tokens: settled.usage.promptTokens,
        output_tokens: settled.usage.completionTokens,
      };
      const body = { model: model.id, answers, usage };
      const answer = json(body, { headers: modelHeaders(request, call.attempt) });
      return { ...answer, compressible: true };
    } catch (error) {
      // A client that leaves before the end pays for the answers until then; one that gets an error pays nothing.
      if (request.hasLeft) await settleCall(call, tally.sum());
      throw error;
    }
  });
}
