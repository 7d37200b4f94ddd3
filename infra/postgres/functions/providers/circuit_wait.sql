-- Circuit breaker. Milliseconds until a job may ask its provider at all; null: now. While the circuit is half open, the
-- job that takes the turn is the probe. It has a minute; should its worker die, the next job may probe.
create or replace function circuit_wait(mine jobs, take_turn boolean) returns integer language plpgsql volatile as $$
declare
  health provider_health;
  rests_ms float8;
begin
  select * into health from provider_health where provider = mine.provider;
  if health.open_until is null then return null; end if;
  rests_ms := greatest(0, 1000 * extract(epoch from health.open_until - clock_timestamp()));
  if rests_ms = 0 and coalesce(health.probe_until, '-infinity') <= clock_timestamp() then
    if not take_turn then return null; end if;
    update provider_health set probe_until = clock_timestamp() + interval '1 minute'
      where provider = mine.provider and open_until <= clock_timestamp()
        and coalesce(probe_until, '-infinity') <= clock_timestamp();
    if found then return null; end if;
  end if;
  return rests_ms + line_pause(jobs_before(mine), 20);
end $$;
