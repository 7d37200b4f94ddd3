create or replace function note_job_progress() returns trigger language plpgsql as $$
begin
  perform append_job_change(new.queue_id, 'progress', new.progress::text);
  return null;
end $$;
