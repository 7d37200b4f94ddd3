/** Settles payments through a facilitator (WALLET-14). Its reply never proves what happened on the chain. */
import { z } from 'zod';
import { createServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { parseJson } from '../shared/textFailures.ts';
import type { PaymentRequirement, SettleOutcome, Settler, SignedPayment } from './paymentNetwork.ts';

/** The facilitator waits for the chain. */
const TIMEOUTS = { firstByteMs: 30_000, idleMs: 10_000, totalMs: 45_000 };
/** Short, because a client waits for the offer that needs it. */
const SUPPORTED_MS = 3_000;
const MAX_REPLY_BYTES = 64 * 1024;

const reply = z.object({
  success: z.boolean(),
  errorReason: z.string().nullish(),
  transaction: z.string().nullish(),
});

/** Errors that precede any submission; all other errors may follow one. */
const BEFORE_SENDING =
  /^(insufficient_funds|invalid_network|invalid_payload|invalid_payment_requirements|invalid_scheme|unsupported_scheme|invalid_x402_version|invalid_exact_(evm|svm)_[a-z0-9_]{1,100})$/;
/** Statuses that the facilitator's HTTP server sends before any processing. */
const TURNED_AWAY = [401, 403, 404, 405, 413, 429];

export interface FacilitatorOptions {
  url: string;
  allowPrivateNetwork: boolean;
  /** Sent as both the accepted and the required terms. */
  requirementOf(payment: SignedPayment): PaymentRequirement;
  /** Normalised transaction id of this network; undefined if invalid. */
  toTransaction(text: string): string | undefined;
}

export interface Facilitator extends Settler {
  /** The facilitator's unverified claim of support (GET /supported). Throws ServiceHttpError. */
  supported(): Promise<unknown>;
}

export function createFacilitator(options: FacilitatorOptions): Facilitator {
  const service = createServiceHttp({
    baseUrl: options.url,
    allowPrivateNetwork: options.allowPrivateNetwork,
    timeouts: TIMEOUTS,
    maxReplyBytes: MAX_REPLY_BYTES,
  });
  return {
    async supported() {
      const { body } = await service.request({
        method: 'GET',
        path: '/supported',
        signal: AbortSignal.timeout(SUPPORTED_MS),
      });
      return parseJson(body);
    },
    async settle(payment, signal) {
      const paymentRequirements = options.requirementOf(payment);
      const paymentPayload = { x402Version: 2, accepted: paymentRequirements, payload: payment.payload };
      const json = { x402Version: 2, paymentPayload, paymentRequirements };
      try {
        return outcomeOf(await service.request({ method: 'POST', path: '/settle', json, signal }), options);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof ServiceHttpError)) throw error;
        const reason = `the facilitator: ${error.message}`;
        return { outcome: error.sent === 'not_sent' ? 'refused' : 'unknown', reason };
      }
    },
    close: () => service.close(),
  };
}

function outcomeOf({ status, body }: WholeReply, { toTransaction }: FacilitatorOptions): SettleOutcome {
  const parsed = reply.safeParse(parseJson(body));
  if (!parsed.success) {
    const reason = `the facilitator answered HTTP ${status}`;
    return { outcome: TURNED_AWAY.includes(status) ? 'refused' : 'unknown', reason };
  }
  const { success, errorReason, transaction } = parsed.data;
  const named = toTransaction(transaction ?? '');
  if (success) return { outcome: 'sent', transaction: named };
  const reason = /^[a-z0-9_]{1,100}$/.test(errorReason ?? '') ? String(errorReason) : 'not said';
  if (named === undefined && BEFORE_SENDING.test(reason)) return { outcome: 'refused', reason };
  return { outcome: 'unknown', reason, ...(named === undefined ? {} : { transaction: named }) };
}
