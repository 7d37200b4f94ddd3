-- Milliseconds until a job may be handed to a provider with limits; null: now.
create or replace function line_wait(mine jobs, most_running integer, most_per_minute integer) returns integer
language plpgsql volatile as $$
declare
  used uuid[];
  kept_ms float8;
  wait_ms integer;
begin
  if most_running is not null then
    -- A job that is observed at any moment is on average halfway through.
    select coalesce(array_agg(account_id), '{}'),
        coalesce(2000 * avg(extract(epoch from clock_timestamp() - coalesce(submitted_at, created_at))), 0)
      into used, kept_ms from jobs
      where provider = mine.provider and state = 'submitted' and submission <> 'not_accepted';
    wait_ms := share_wait(mine, most_running, used, kept_ms);
  end if;
  if wait_ms is null and most_per_minute is not null then
    select coalesce(array_agg(account_id), '{}') into used from provider_starts
      where provider = mine.provider and at > clock_timestamp() - interval '1 minute';
    wait_ms := share_wait(mine, most_per_minute, used, 60000);
  end if;
  return wait_ms;
end $$;
