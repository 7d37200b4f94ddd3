-- Locks the row of the job before its event is written. All writers about one job wait for that row first, so no cycle
-- forms.
create or replace function lock_job_of_event() returns trigger language plpgsql as $$
begin
  perform from jobs where queue_id = new.queue_id for no key update;
  return new;
end $$;
