-- Turns back a second end of a hold. A resolution that comes while its hold is being written sees no operation yet, and
-- so locks no account. Two of them would both find the hold a moment later and book it twice. A serialization failure
-- is repeated, and then finds the hold resolved.
create or replace function refuse_second_end() returns trigger language plpgsql as $$
begin
  raise exception 'operation % was resolved in the same moment', old.operation_id using errcode = 'serialization_failure';
end $$;
