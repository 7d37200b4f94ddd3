create or replace function note_job_event() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'timeline', new.event);
  return null;
end $$;
