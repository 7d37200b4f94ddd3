-- Up Migration

-- Most keys list their own jobs and those of their children, newest first.
create index jobs_of_key on jobs (key_id, created_at desc, queue_id desc);

-- With filters they are found by what they are; whose they are is read from the index as well, without a look at the row.
drop index jobs_by_kind_and_state;
drop index jobs_by_model;
create index jobs_by_kind_and_state on jobs (account_id, kind, state, created_at desc, queue_id desc) include (key_id);
create index jobs_by_model on jobs (account_id, model_id, kind, state, created_at desc, queue_id desc) include (key_id);

-- Whose order an Idempotency-Key stands for; null: of a caller without a key, or from before this was kept.
alter table idempotency_keys add column key_id uuid;

-- An announcement takes a lock of the whole cluster until its commit is done. What charges and refunds a job holds the lock of
-- the account as well, so that one announces nothing: nobody waits for a job before it is accepted, and who ended one tells it
-- in a statement of its own, after the commit.
create or replace function append_job_change(job uuid, change_kind text, change_value text) returns void
language plpgsql as $$
begin
  insert into job_changes (queue_id, seq, kind, value)
    select job, coalesce(max(c.seq), 0) + 1, change_kind, change_value from job_changes c where c.queue_id = job;
  if change_value not in
      ('accepted', 'consented', 'measured', 'charged', 'failed', 'timed_out', 'cancelled', 'refunded') then
    perform pg_notify('farebox_jobs', job::text);
  end if;
end $$;

-- Down Migration

create or replace function append_job_change(job uuid, change_kind text, change_value text) returns void
language plpgsql as $$
begin
  insert into job_changes (queue_id, seq, kind, value)
    select job, coalesce(max(c.seq), 0) + 1, change_kind, change_value from job_changes c where c.queue_id = job;
  perform pg_notify('farebox_jobs', job::text);
end $$;
alter table idempotency_keys drop column key_id;
drop index jobs_by_model;
drop index jobs_by_kind_and_state;
drop index jobs_of_key;
create index jobs_by_kind_and_state on jobs (account_id, kind, state, created_at desc, queue_id desc);
create index jobs_by_model on jobs (account_id, model_id, kind, state, created_at desc, queue_id desc);
