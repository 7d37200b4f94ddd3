/** The changes of a job as server-sent events, each with the state and the progress that the job had by then. */
import { isRunning, type JobState } from '../../domain/jobs.ts';
import { presentEvent } from '../../domain/presentJob.ts';
import type { JobChange } from '../../infra/postgres/jobChanges.ts';
import { changeId, endId } from './eventCursor.ts';

export interface JobEventState {
  queueId: string;
  /** Number of the last change; 0: none yet. */
  seq: number;
  state: JobState;
  /** Percent; null while the provider reports none. */
  progress: number | null;
}

export function createEventState(queueId: string): JobEventState {
  return { queueId, seq: 0, state: 'accepted', progress: null };
}

/** Adds changes in order, and returns the events of those above `after`. */
export function appendChanges(eventState: JobEventState, changes: readonly JobChange[], after = 0): string {
  let text = '';
  for (const change of changes) {
    eventState.seq = change.seq;
    if (change.kind === 'state') eventState.state = change.state;
    if (change.kind === 'progress') eventState.progress = change.progress;
    if (change.seq > after) text += eventOf(changeId(change.seq), change.kind, presentChange(eventState, change));
  }
  return text;
}

/** Only delivery and deletion can follow, by the client or at the end of the retention. */
export function isEnded({ seq, state }: JobEventState): boolean {
  return seq > 0 && !isRunning(state);
}

export function endEventOf(eventState: JobEventState): string {
  return eventOf(endId(eventState.seq), 'end', stateFieldsOf(eventState));
}

function stateFieldsOf({ queueId, state, progress }: JobEventState) {
  return { queue_id: queueId, state, progress };
}

function presentChange(eventState: JobEventState, change: JobChange) {
  if (change.kind === 'timeline') return { ...stateFieldsOf(eventState), ...presentEvent(change) };
  return { ...stateFieldsOf(eventState), at: change.at.toISOString() };
}

function eventOf(id: string, name: string, data: object): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
