-- Decides about handing a job to its provider, in one round trip: 'submit' (written ahead), 'ask', 'poll', 'stop' or
-- 'wait'. No row: there is no such job.
create or replace function open_submission(job uuid, most_running integer, most_per_minute integer)
returns table (go text, job_state text, job_operation jsonb, wait_ms integer, waits_for text)
language plpgsql volatile as $$
declare
  mine jobs;
  limited constant boolean := coalesce(most_running, most_per_minute) is not null;
begin
  -- First without a lock: most waiting jobs go on waiting, and must hold nobody up.
  for attempt in 1..2 loop
    if attempt = 1 then
      select * into mine from jobs j where j.queue_id = job;
    else
      -- The row is locked before the provider: ending a job keeps its row for some time, and no other job should wait
      -- for that.
      select * into mine from jobs j where j.queue_id = job for update;
      if limited then perform pg_advisory_xact_lock(hashtextextended('farebox provider ' || mine.provider, 0)); end if;
    end if;
    if not found then return; end if;
    job_state := mine.state;
    job_operation := mine.operation;
    if mine.state not in ('accepted', 'submitted') then go := 'stop'; return next; return; end if;
    if mine.submission not in ('none', 'not_accepted') then
      go := case when mine.operation is null then 'ask' else 'poll' end;
      return next;
      return;
    end if;
    if limited then
      waits_for := 'place';
      wait_ms := line_wait(mine, most_running, most_per_minute);
    end if;
    if wait_ms is null then
      waits_for := 'provider';
      wait_ms := circuit_wait(mine, attempt = 2);
    end if;
    if wait_ms is not null then go := 'wait'; return next; return; end if;
  end loop;
  update jobs j set state = 'submitted', submission = 'sent', submitted_at = clock_timestamp() where j.queue_id = job;
  insert into job_events (queue_id, event, detail) values (job, 'submitted', mine.provider)
    on conflict (queue_id, event) do nothing;
  if most_per_minute is not null then
    delete from provider_starts where provider = mine.provider and at <= clock_timestamp() - interval '1 minute';
    insert into provider_starts values (mine.provider, clock_timestamp(), mine.account_id);
  end if;
  go := 'submit';
  waits_for := null;
  return next;
end $$;
