-- Appends a numbered change. The caller has locked the row of the job, so numbers are given one after the other and
-- none is seen before a lower one. A notification takes a lock of the whole cluster until its commit. A transaction
-- that charges or refunds also holds the lock of the account, so it notifies nobody: nobody waits for a job before it
-- is accepted, and whoever ends a job notifies in a statement of its own after the commit.
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
