/** Table of kill cases: every failpoint with every fault, and some that come later or twice. */

import { FAILPOINTS, type Failpoint } from './failpoints.ts';
import type { FlowName } from './flows.ts';

type Fault = 'SIGKILL the worker' | 'SIGKILL the API' | 'lose the reply';

export interface KillCase {
  title: string;
  flow: FlowName;
  /** The process in which `arm` is set. */
  at: 'api' | 'worker';
  arm: string;
  /**
   * Action once the failpoint fired: the process itself dies, the other one is killed, the process is stopped until
   * another worker has finished the job (a zombie), or none.
   */
  strike: 'own death' | 'kill the other' | 'freeze' | 'nothing';
}

const FAULTS: readonly Fault[] = ['SIGKILL the worker', 'SIGKILL the API', 'lose the reply'];
/** Long enough to kill the other process while this one waits at the failpoint. */
const PAUSE_MS = 2_000;

function caseOf(point: Failpoint, fault: Fault): KillCase {
  const { number, name, at, killAfterMs } = point;
  const title = `${number} (${name}, ${point.flow}) × ${fault}`;
  if (fault === 'lose the reply') {
    const lost = point.loseFlow;
    const arm = lost ? `${name}:pause` : `${name}:lose`;
    return { title, at, flow: lost ?? point.flow, arm, strike: 'nothing' };
  }
  const own = (fault === 'SIGKILL the worker') === (at === 'worker');
  if (!own) {
    return { title, at, flow: point.flow, arm: `${name}:pause:1:${PAUSE_MS}`, strike: 'kill the other' };
  }
  return { title, at, flow: point.flow, arm: `${name}:kill:1:${killAfterMs ?? 0}`, strike: 'own death' };
}

function workerDies(name: string, flow: FlowName, visit = 1): KillCase {
  const title = `${name}, visit ${visit}, ${flow} × SIGKILL the worker`;
  return { title, at: 'worker', flow, arm: `${name}:kill:${visit}:0`, strike: 'own death' };
}

function workerFreezes(name: string, flow: FlowName): KillCase {
  const title = `${name}, ${flow} × the worker stands still and goes on when another has taken over`;
  return { title, at: 'worker', flow, arm: `${name}:pause:1:${PAUSE_MS}`, strike: 'freeze' };
}

/** Other paths to the same failpoints: a running ffmpeg, a lost provider reply, the second attempt of a step. */
const FURTHER: readonly KillCase[] = [
  workerDies('activity-start', 'local'),
  workerDies('measured', 'film'),
  workerDies('provider-submitted', 'film'),
  workerDies('provider-submitted', 'music'),
  workerDies('output-put', 'film'),
  workerDies('output-put', 'music'),
  {
    ...{
      title: 'the API dies once it is told of the charge, while the words of the order take long to be stored',
    },
    ...{ at: 'api', flow: 'music', arm: 'source-begun:pause:1:1500,workflow-started:kill:1:0' },
    strike: 'own death',
  },
  workerDies('provider-submitted', 'local'),
  workerDies('output-put', 'local'),
  workerDies('provider-submitted', 'silent'),
  workerDies('output-half', 'silent'),
  workerDies('polled', 'patient', 2),
  workerDies('refund-inserted', 'cancel'),
  workerDies('end-recorded', 'cancel'),
  workerDies('refund-lost', 'refusing'),
  workerDies('removal-recorded', 'expire'),
  workerDies('media-removed', 'deleteOnDelivery'),
  {
    ...{ title: 'the charge fails once and then its worker dies', at: 'worker', flow: 'instant' },
    ...{ arm: 'charge-inserted:lose:1,job-inserted:kill:1:0', strike: 'own death' },
  },
  {
    ...{ title: 'the output is put twice and then its worker dies', at: 'worker', flow: 'slow' },
    ...{ arm: 'output-put:lose:1,output-put:kill:2:0', strike: 'own death' },
  },
];

const ZOMBIES: readonly KillCase[] = [
  workerFreezes('measured', 'instant'),
  workerFreezes('job-inserted', 'instant'),
  workerFreezes('provider-submitted', 'slow'),
  workerFreezes('output-put', 'instant'),
  workerFreezes('refund-inserted', 'refusing'),
];

/** Killing the process that is not at the failpoint is the mildest fault, and runs only in long mode. */
const isLong = process.env.FAREBOX_TEST_LONG === '1';

/** The slowest cases come first, so that the others fill their pauses. */
export const CASES: readonly KillCase[] = [
  ...ZOMBIES,
  ...FAILPOINTS.toReversed()
    .flatMap((point) => FAULTS.map((fault) => caseOf(point, fault)))
    .filter(({ strike }) => isLong || strike !== 'kill the other'),
  ...FURTHER,
];
