/** The changes of a job as server-sent events, each with the state and the progress that the job had by then. */
import { isRunning, type JobState } from '../../domain/jobs.ts';
import { presentEvent } from '../../domain/presentJob.ts';
import type { JobChange } from '../../infra/postgres/jobChanges.ts';
import { changeId, endId } from './eventCursor.ts';

export interface JobStory {
  queueId: string;
  /** Number of the last change; 0: none yet. */
  seq: number;
  state: JobState;
  /** Percent; null while the provider reports none. */
  progress: number | null;
}

export function beginStory(queueId: string): JobStory {
  return { queueId, seq: 0, state: 'accepted', progress: null };
}

/** Adds changes in order, and returns the events of those above `after`. */
export function continueStory(story: JobStory, changes: readonly JobChange[], after = 0): string {
  let text = '';
  for (const change of changes) {
    story.seq = change.seq;
    if (change.kind === 'state') story.state = change.state;
    if (change.kind === 'progress') story.progress = change.progress;
    if (change.seq > after) text += eventOf(changeId(change.seq), change.kind, presentChange(story, change));
  }
  return text;
}

/** Only delivery and deletion can follow, by the client or at the end of the retention. */
export function isOver({ seq, state }: JobStory): boolean {
  return seq > 0 && !isRunning(state);
}

export function endOf(story: JobStory): string {
  return eventOf(endId(story.seq), 'end', standOf(story));
}

function standOf({ queueId, state, progress }: JobStory) {
  return { queue_id: queueId, state, progress };
}

function presentChange(story: JobStory, change: JobChange) {
  if (change.kind === 'timeline') return { ...standOf(story), ...presentEvent(change) };
  return { ...standOf(story), at: change.at.toISOString() };
}

function eventOf(id: string, name: string, data: object): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
