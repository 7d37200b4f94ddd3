-- Up Migration

-- The account's lock makes resolutions of a hold follow each other, but one that comes while the hold is just being written
-- sees no operation yet, and so locks no account. Two such would both find the hold a moment later, and book it twice: the
-- second is turned back here, and finds it resolved when it tries again (serialization_failure is repeated).
create function refuse_second_end() returns trigger language plpgsql as $$
begin
  raise exception 'operation % was resolved in the same moment', old.operation_id using errcode = 'serialization_failure';
end $$;
create trigger operations_end_once before update of state on operations for each row
  when (old.state <> 'held') execute function refuse_second_end();

-- Down Migration

drop trigger operations_end_once on operations;
drop function refuse_second_end();
