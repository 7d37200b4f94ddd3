/** Updates and signals of a generation, typed by the contract. */
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  ACCEPTED_UPDATE,
  type AcceptResult,
  CALLED_BACK_SIGNAL,
  CANCEL_UPDATE,
  type CancelResult,
  COMPLETE_UPDATE,
  type CompleteRequest,
  type CompleteResult,
  PRESENTED_SIGNAL,
  type PresentedPayment,
  RESEND_SIGNAL,
} from './contract.ts';

export const acceptedUpdate = defineUpdate<AcceptResult>(ACCEPTED_UPDATE);
export const cancelUpdate = defineUpdate<CancelResult>(CANCEL_UPDATE);
export const completeUpdate = defineUpdate<CompleteResult, [CompleteRequest?]>(COMPLETE_UPDATE);
export const calledBackSignal = defineSignal(CALLED_BACK_SIGNAL);
export const resendSignal = defineSignal(RESEND_SIGNAL);
export const presentedSignal = defineSignal<[PresentedPayment]>(PRESENTED_SIGNAL);
