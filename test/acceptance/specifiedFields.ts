/**
 * What each route answers, field by field, copied by hand from the specification (2.3 to 2.7, 4.6, 4.9, 4.10) and from
 * the tables A.5 to A.14 of the facts about the public API. Nothing generates it, and nothing is generated from it.
 *
 * A type ends with `?` when the field may be missing, and with `|null` when it may be null. `[]` goes through a list,
 * `{}` through an object whose names are free.
 */

import { AMOUNT, DELIVERY, JOB, under, WEBHOOK_SECRET } from './specifiedJobFields.ts';

export type FieldTable = Readonly<Record<string, string>>;

const KEY = {
  id: 'string',
  apiKeyType: 'string',
  description: 'string',
  consumptionLimits: 'object',
  'consumptionLimits.usd': 'number|null',
  'consumptionLimits.diem': 'number|null',
  'consumptionLimits.vcu': 'number|null',
  limitPeriod: 'string',
  modelPrivacy: 'string',
  createdAt: 'string',
  expiresAt: 'string|null',
  lastUsedAt: 'string|null',
  last6Chars: 'string',
};

const KEY_WITH_USAGE = {
  ...KEY,
  'usage.trailingSevenDays.usd': 'string',
  'usage.trailingSevenDays.vcu': 'string',
  'usage.trailingSevenDays.diem': 'string',
};

const CHARACTER = {
  adult: 'boolean',
  author: 'string',
  createdAt: 'string',
  description: 'string|null',
  featured: 'boolean',
  id: 'string',
  name: 'string',
  shareUrl: 'string|null',
  photoUrl: 'string|null',
  slug: 'string',
  'stats.averageRating': 'number',
  'stats.imports': 'number',
  'stats.ratingCount': 'number',
  'stats.ratingSum': 'number',
  'stats.userRating': 'number|null',
  tags: 'array',
  'tags[]': 'string',
  updatedAt: 'string',
  webEnabled: 'boolean',
  modelId: 'string',
};

const NAMES = { object: 'string', type: 'string', data: 'object', 'data{}': 'string' };

const REFUSALS = {
  object: 'string',
  data: 'array',
  'data[].apiKeyId': 'string',
  'data[].modelId': 'string',
  'data[].rateLimitTier': 'string',
  'data[].rateLimitType': 'string',
  'data[].timestamp': 'string',
};

const DECISION = {
  model: 'string',
  answers: 'object',
  'answers{}': 'object',
  'answers{}.type': 'string',
  'answers{}.noul': 'number?',
  'answers{}.choice': 'string?',
  'answers{}.score': 'number?',
  'answers{}.legend': 'object?',
  'answers{}.probabilities': 'object?',
  'answers{}.confidence': 'number?',
  'usage.input_tokens': 'number',
  'usage.output_tokens': 'number',
};

export const SPECIFIED_FIELDS: Readonly<Record<string, FieldTable>> = {
  quoteVoiceChange: { quote: 'number', duration_seconds: 'number' },
  queueVoiceChange: { model: 'string', queue_id: 'string', status: 'string', duration_seconds: 'number' },
  completeVoiceChange: { success: 'boolean' },
  quoteAudio: { quote: 'number' },
  queueAudio: { model: 'string', queue_id: 'string', status: 'string' },
  completeAudio: { success: 'boolean' },
  quoteVideo: { quote: 'number' },
  queueVideo: { model: 'string', queue_id: 'string', download_url: 'string?' },
  completeVideo: { success: 'boolean' },
  retiredVideoTranscriptions: { error: 'string' },
  listJobs: { object: 'string', data: 'array', ...under('data[]', JOB), next_cursor: 'string|null' },
  showJob: {
    ...JOB,
    timeline: 'array',
    'timeline[].event': 'string',
    'timeline[].at': 'string',
    'timeline[].ledger_id': 'string|null',
    'timeline[].detail': 'string|null',
    'timeline[].amounts': 'array',
    ...under('timeline[].amounts[]', AMOUNT),
  },
  cancelJob: JOB,
  listDeliveries: { object: 'string', data: 'array', ...under('data[]', DELIVERY) },
  resendDelivery: DELIVERY,
  showWebhookSecret: WEBHOOK_SECRET,
  rotateWebhookSecret: WEBHOOK_SECRET,
  createChatCompletion: {
    id: 'string',
    object: 'string',
    created: 'number',
    model: 'string',
    choices: 'array',
    'choices[].index': 'number',
    'choices[].finish_reason': 'string',
    'choices[].stop_reason': 'string|null',
    'choices[].logprobs': 'object|null',
    'choices[].message.role': 'string',
    'choices[].message.content': 'string|null',
    'choices[].message.reasoning_content': 'string|null',
    'usage.prompt_tokens': 'number',
    'usage.completion_tokens': 'number',
    'usage.total_tokens': 'number',
    'usage.prompt_tokens_details.cached_tokens': 'number',
    'usage.prompt_tokens_details.cache_creation_input_tokens': 'number',
    'usage.completion_tokens_details.reasoning_tokens': 'number',
    'cost.usd': 'number',
    'cost.diem': 'number',
    prompt_logprobs: 'object|null',
    'service_parameters.character_slug': 'string?',
    'service_parameters.strip_thinking_response': 'boolean',
    'service_parameters.disable_thinking': 'boolean',
    'service_parameters.enable_e2ee': 'boolean',
    'service_parameters.enable_web_search': 'string',
    'service_parameters.enable_web_scraping': 'boolean',
    'service_parameters.enable_web_citations': 'boolean',
    'service_parameters.include_search_results_in_stream': 'boolean',
    'service_parameters.return_search_results_as_documents': 'boolean?',
    'service_parameters.include_service_system_prompt': 'boolean',
    'service_parameters.enable_x_search': 'boolean',
    'service_parameters.web_search_citations': 'array',
  },
  createResponse: {
    id: 'string',
    object: 'string',
    created_at: 'number',
    model: 'string',
    status: 'string',
    output: 'array',
    'output[].type': 'string',
    'output[].id': 'string',
    'output[].status': 'string',
    'output[].role': 'string',
    'output[].content': 'array',
    'output[].content[].type': 'string',
    'output[].content[].text': 'string',
    'output[].content[].annotations': 'array',
    'usage.input_tokens': 'number',
    'usage.input_tokens_details.cached_tokens': 'number',
    'usage.output_tokens': 'number',
    'usage.output_tokens_details.reasoning_tokens': 'number',
    'usage.total_tokens': 'number',
  },
  parseDocument: { text: 'string', tokens: 'number' },
  createDecision: DECISION,
  createDecisionAlias: DECISION,
  createEmbeddings: {
    object: 'string',
    model: 'string',
    data: 'array',
    'data[].object': 'string',
    'data[].index': 'number',
    'data[].embedding': 'array',
    'data[].embedding[]': 'number',
    'usage.prompt_tokens': 'number',
    'usage.total_tokens': 'number',
  },
  listModels: {
    object: 'string',
    type: 'string',
    data: 'array',
    'data[].id': 'string',
    'data[].object': 'string',
    'data[].created': 'number',
    'data[].owned_by': 'string',
    'data[].type': 'string',
    'data[].model_spec': 'object',
    'data[].model_spec.name': 'string',
    'data[].model_spec.description': 'string?',
    'data[].model_spec.modelSource': 'string?',
    'data[].model_spec.privacy': 'string',
    'data[].model_spec.offline': 'boolean',
    'data[].model_spec.traits': 'array',
    'data[].model_spec.pricing': 'object?',
    'data[].model_spec.supports_lyrics': 'boolean?',
    'data[].model_spec.lyrics_required': 'boolean?',
    'data[].model_spec.voices': 'array?',
    'data[].model_spec.default_voice': 'string?',
    'data[].model_spec.duration_options': 'array?',
    'data[].model_spec.supported_formats': 'array?',
    'data[].model_spec.default_format': 'string?',
    'data[].model_spec.prompt_character_limit': 'number?',
  },
  listModelTraits: NAMES,
  listModelNames: NAMES,
  listCharacters: { object: 'string', data: 'array', ...under('data[]', CHARACTER) },
  showCharacter: { object: 'string', ...under('data', CHARACTER) },
  listCharacterReviews: {
    object: 'string',
    data: 'array',
    'pagination.page': 'number',
    'pagination.pageSize': 'number',
    'pagination.total': 'number',
    'pagination.totalPages': 'number',
    'summary.averageRating': 'number',
    'summary.totalReviews': 'number',
  },
  listApiKeys: { object: 'string', data: 'array', ...under('data[]', KEY_WITH_USAGE) },
  showApiKey: under('data', KEY_WITH_USAGE),
  createApiKey: {
    success: 'boolean',
    'data.id': 'string',
    'data.apiKey': 'string',
    'data.apiKeyType': 'string',
    'data.description': 'string',
    'data.expiresAt': 'string|null',
    'data.consumptionLimit.usd': 'number|null',
    'data.consumptionLimit.diem': 'number|null',
    'data.consumptionLimit.vcu': 'number|null',
    'data.limitPeriod': 'string',
    'data.modelPrivacy': 'string',
  },
  updateApiKey: { success: 'boolean', ...under('data', KEY) },
  deleteApiKey: { success: 'boolean' },
  rotateApiKey: {
    success: 'boolean',
    ...under('data', KEY),
    'data.apiKey': 'string',
    'data.previousKeyExpiresAt': 'string|null',
  },
  showRateLimits: {
    'data.accessPermitted': 'boolean',
    'data.apiTier.id': 'string',
    'data.apiTier.isCharged': 'boolean',
    'data.balances.USD': 'number',
    'data.balances.DIEM': 'number',
    'data.keyExpiration': 'string|null',
    'data.nextEpochBegins': 'string',
    'data.rateLimits': 'array',
    'data.rateLimits[].apiModelId': 'string',
    'data.rateLimits[].rateLimits': 'array',
    'data.rateLimits[].rateLimits[].amount': 'number',
    'data.rateLimits[].rateLimits[].type': 'string',
  },
  listRateLimitLogs: REFUSALS,
  listRateLimitLogsAlias: REFUSALS,
  showBalance: {
    canConsume: 'boolean',
    consumptionCurrency: 'string|null',
    'balances.diem': 'number|null',
    'balances.usd': 'number|null',
    diemEpochAllocation: 'number',
  },
  listUsage: {
    data: 'array',
    'data[].timestamp': 'string',
    'data[].sku': 'string',
    'data[].units': 'number',
    'data[].unit': 'number',
    'data[].pricePerUnitUsd': 'number',
    'data[].amount': 'number',
    'data[].currency': 'string',
    'data[].notes': 'string',
    'data[].inferenceDetails': 'object|null',
    nextCursor: 'string|null',
  },
  showUsageAnalytics: {
    lookback: 'string',
    byDate: 'array',
    'byDate[].date': 'string',
    'byDate[].USD': 'number',
    'byDate[].DIEM': 'number',
    byModel: 'array',
    'byModel[].modelName': 'string',
    'byModel[].unitType': 'string',
    'byModel[].modelType': 'string|null',
    'byModel[].totalUsd': 'number',
    'byModel[].totalDiem': 'number',
    'byModel[].totalUnits': 'number',
    'byModel[].breakdown[].type': 'string',
    'byModel[].breakdown[].usd': 'number',
    'byModel[].breakdown[].diem': 'number',
    'byModel[].breakdown[].units': 'number',
    byModelDaily: 'array',
    'byModelDaily[]{}': 'number',
    topModels: 'array',
    'topModels[]': 'string',
    byKey: 'array',
    'byKey[].apiKeyId': 'string|null',
    'byKey[].description': 'string',
    'byKey[].totalUsd': 'number',
    'byKey[].totalDiem': 'number',
    'byKey[].totalUnits': 'number',
    byKeyDaily: 'array',
    'byKeyDaily[]{}': 'number',
    topKeyNames: 'array',
    'topKeyNames[]': 'string',
  },
  listAudit: {
    object: 'string',
    data: 'array',
    'data[].id': 'string',
    'data[].createdAt': 'string',
    'data[].actor': 'string',
    'data[].action': 'string',
    'data[].targetId': 'string',
    'data[].requestId': 'string|null',
    'data[].changes': 'object',
    nextCursor: 'string|null',
  },
  retiredUsage: { error: 'string' },
};

/** What is missing or of another type, one line each. */
export function faultsOfFields(table: FieldTable, body: unknown): string[] {
  return Object.entries(table).flatMap(([place, type]) => {
    const [bare = ''] = type.split(/[?|]/);
    return valuesAt(place, body).flatMap((value) => {
      if (value === undefined && type.endsWith('?')) return [];
      if (value === null && type.endsWith('|null')) return [];
      return typeOf(value) === bare ? [] : [`${place}: ${typeOf(value)} instead of ${type}`];
    });
  });
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

function valuesAt(place: string, body: unknown): unknown[] {
  const steps = place.match(/[^.[\]{}]+|\[\]|\{\}/g) ?? [];
  return steps.reduce<unknown[]>(
    (values, step) =>
      values.flatMap((value) => {
        if (step === '[]') return Array.isArray(value) ? value : [undefined];
        if (typeof value !== 'object' || value === null) return [undefined];
        return step === '{}' ? Object.values(value) : [(value as Record<string, unknown>)[step]];
      }),
    [body],
  );
}
