create or replace function note_job_state() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'state', new.state);
  return null;
end $$;
