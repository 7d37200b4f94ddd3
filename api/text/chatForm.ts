/** Chat completion as the form of an answer (TEXT-16, TEXT-20). */
import type { AnswerForm } from './answerForm.ts';
import type { ChatBody } from './chatBody.ts';
import { isStripped, presentChoice, presentCost, presentUsage } from './present.ts';
import { StreamWriter } from './streamWriter.ts';
import { effectiveParameters, withDocuments } from './web/presentWebResults.ts';

export function chatForm({ service_parameters: parameters }: ChatBody): AnswerForm {
  const stripped = isStripped(parameters);
  return {
    choose: (attempts) => attempts,
    whole: ({ heading: { id, created, model }, call, completion, settled }) => ({
      id,
      object: 'chat.completion',
      created,
      model,
      choices: withDocuments(
        completion.choices.map((choice) => presentChoice(choice, stripped)),
        { call, parameters },
      ),
      usage: presentUsage(settled.usage),
      cost: presentCost(settled.cost),
      prompt_logprobs: null,
      service_parameters: effectiveParameters({ call, parameters }),
    }),
    stream: ({ heading, call }) => new StreamWriter(heading, { call, parameters }),
    tellsBalance: true,
  };
}
