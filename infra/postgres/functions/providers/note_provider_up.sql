-- Notes an answer of a provider. True when this closed its circuit.
create or replace function note_provider_up(named text) returns boolean language plpgsql volatile as $$
declare
  health provider_health;
begin
  -- Most answers change nothing, and lock nothing.
  select * into health from provider_health where provider = named and (failures > 0 or open_until is not null);
  if not found then return false; end if;
  select * into health from provider_health where provider = named for update;
  update provider_health set failures = 0, pause_ms = 0, open_until = null, probe_until = null where provider = named;
  return health.open_until is not null;
end $$;
