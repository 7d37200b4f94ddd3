-- Up Migration

-- Everything that happened to a job that its owner may see, numbered 1, 2, 3 … in the order of the commits: whoever has
-- read up to a number has lost nothing below it. Only the triggers below write it. A job has at most some hundred and
-- twenty rows: a state and a word of the timeline come once, progress is a whole percent that only grows.
create table job_changes (
  queue_id uuid not null references jobs (queue_id) on delete cascade,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('state', 'progress', 'timeline')),
  -- The state, the percent, or the name of the event in job_events.
  value text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (queue_id, seq)
);
revoke update, delete on job_changes from farebox_app;

-- The row of the job is locked by whoever calls this: numbers are given one after the other, and none is seen before a
-- lower one. The processes that listen are told as part of the commit; the same word twice in one commit is one.
create function append_job_change(job uuid, change_kind text, change_value text) returns void language plpgsql as $$
begin
  insert into job_changes (queue_id, seq, kind, value)
    select job, coalesce(max(c.seq), 0) + 1, change_kind, change_value from job_changes c where c.queue_id = job;
  perform pg_notify('farebox_jobs', job::text);
end $$;

create function note_job_state() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'state', new.state);
  return null;
end $$;

create function note_job_progress() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'progress', new.progress::text);
  return null;
end $$;

-- Before the event is there: all who write about one job wait for its row first, so none waits for another in a circle.
create function lock_job_of_event() returns trigger language plpgsql as $$
begin
  perform from jobs where queue_id = new.queue_id for no key update;
  return new;
end $$;

create function note_job_event() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'timeline', new.event);
  return null;
end $$;

-- What happened before there were numbers. Where the timeline tells of a state, the job took it then.
insert into job_changes (queue_id, seq, kind, value, at)
select queue_id, row_number() over (partition by queue_id order by place, rank, value), kind, value, at from (
  select queue_id, '-infinity'::timestamptz as place, 0 as rank, 'state' as kind, 'accepted' as value, created_at as at
    from jobs
  union all
  select queue_id, coalesce(stored_at, ended_at, 'infinity'), 1, 'progress', progress::text,
      coalesce(stored_at, ended_at, clock_timestamp())
    from jobs where progress is not null
  union all
  select queue_id, at, 2, 'state', event, at from job_events
    where event in ('submitted', 'stored', 'deleted', 'expired', 'failed', 'timed_out', 'cancelled')
  union all
  select queue_id, at, 3, 'timeline', event, at from job_events
  union all
  select queue_id, 'infinity', 2, 'state', state, coalesce(ended_at, stored_at, clock_timestamp()) from jobs j
    where state <> 'accepted' and not exists (select from job_events e where e.queue_id = j.queue_id and e.event = j.state)
) as known;

create trigger job_inserted after insert on jobs for each row execute function note_job_state();
create trigger job_state_changed after update of state on jobs for each row
  when (old.state is distinct from new.state) execute function note_job_state();
create trigger job_progressed after update of progress on jobs for each row
  when (new.progress is not null and old.progress is distinct from new.progress) execute function note_job_progress();
create trigger job_event_coming before insert on job_events for each row execute function lock_job_of_event();
create trigger job_event_added after insert on job_events for each row execute function note_job_event();

-- Lists by filters: every combination is read from a few places of one of these, never by walking an account's jobs.
create index jobs_by_kind_and_state on jobs (account_id, kind, state, created_at desc, queue_id desc);
create index jobs_by_model on jobs (account_id, model_id, kind, state, created_at desc, queue_id desc);

-- Down Migration

drop index jobs_by_model;
drop index jobs_by_kind_and_state;
drop trigger job_event_added on job_events;
drop trigger job_event_coming on job_events;
drop trigger job_progressed on jobs;
drop trigger job_state_changed on jobs;
drop trigger job_inserted on jobs;
drop function note_job_event;
drop function lock_job_of_event;
drop function note_job_progress;
drop function note_job_state;
drop function append_job_change;
drop table job_changes;
