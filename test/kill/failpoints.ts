/**
 * Failpoints of a voice-changer job, by number (CRASH-1 to CRASH-30). The numbers 10, 18 and 19 are not in use. A job
 * passes none from CRASH-31 on.
 */
import type { FlowName } from './flows.ts';

export interface Failpoint {
  number: string;
  name: string;
  /** The process that passes the failpoint. */
  at: 'api' | 'worker';
  flow: FlowName;
  /** Delay of the kill, so that it hits while the call is under way. */
  killAfterMs?: number;
  /** The flow that loses the reply, where an error at the failpoint would not. */
  loseFlow?: FlowName;
}

const api = (number: string, name: string, flow: FlowName, more: Partial<Failpoint> = {}): Failpoint => ({
  ...{ number, name, at: 'api', flow },
  ...more,
});
const worker = (number: string, name: string, flow: FlowName): Failpoint => ({
  ...{ number, name, at: 'worker', flow },
});

export const FAILPOINTS: readonly Failpoint[] = [
  api('1 request parsed', 'request-parsed', 'instant'),
  api('2 source bytes stored', 'source-stored', 'instant'),
  worker('3 length measured', 'measured', 'instant'),
  worker('4 tx begin', 'tx-begin', 'instant'),
  worker('5 charge inserted', 'charge-inserted', 'instant'),
  worker('6 job row inserted', 'job-inserted', 'instant'),
  worker('7 commit sent', 'commit-sent', 'instant'),
  worker('8 commit acknowledged', 'commit-lost', 'instant'),
  api('9 workflow start sent', 'start-sent', 'instant', { killAfterMs: 150 }),
  api('9 workflow start answered', 'workflow-started', 'instant'),
  api('11 response first byte', 'response-started', 'instant'),
  api('12 response end', 'response-ended', 'instant', { loseFlow: 'forgetful' }),
  worker('13 activity start', 'activity-start', 'instant'),
  worker('14 provider submit sent', 'provider-submitted', 'slow'),
  worker('15 provider id saved', 'provider-id-saved', 'slow'),
  worker('16 poll', 'polled', 'slow'),
  worker('17 output downloaded, not stored', 'output-half', 'slow'),
  worker('20 upload complete sent', 'output-put', 'instant'),
  worker('21 object row saved', 'output-recorded', 'instant'),
  worker('22 refund inserted', 'refund-inserted', 'refusing'),
  worker('23 status terminal', 'end-recorded', 'refusing'),
  worker('24 refund committed', 'refund-lost', 'cancel'),
  api('25 retrieve stream half', 'delivery-half', 'download'),
  api('25 retrieve stream end', 'delivered', 'deleteOnDelivery'),
  worker('26 delete sent', 'media-removed', 'instant'),
  worker('27 delete row', 'removal-recorded', 'instant'),
  api('28 complete response', 'complete-answer', 'instant'),
  worker('29 cleanup timer', 'media-removed', 'expire'),
  worker('30 sweeper between list and act', 'sweep-listed', 'sweep'),
];
