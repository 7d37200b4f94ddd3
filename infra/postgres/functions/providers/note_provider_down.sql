-- Circuit breaker. Notes that a provider did not answer, or said that it serves nobody now. Five failures in a row open
-- the circuit for five seconds. A failed probe opens it again for twice as long, five minutes at most. Returns the
-- pause in milliseconds when this opened the circuit, else null: a call that was under way when it opened makes no
-- pause longer.
create or replace function note_provider_down(named text) returns integer language plpgsql volatile as $$
declare
  failures_to_open constant integer := 5;
  health provider_health;
begin
  insert into provider_health (provider) values (named) on conflict do nothing;
  select * into health from provider_health where provider = named for update;
  if health.open_until > clock_timestamp() then return null; end if;
  health.failures := least(health.failures + 1, 1000000);
  if health.open_until is null and health.failures < failures_to_open then
    update provider_health set failures = health.failures where provider = named;
    return null;
  end if;
  health.pause_ms := least(300000, greatest(5000, health.pause_ms * 2));
  update provider_health set failures = health.failures, pause_ms = health.pause_ms, probe_until = null,
      open_until = clock_timestamp() + health.pause_ms * interval '1 millisecond'
    where provider = named;
  return health.pause_ms;
end $$;
