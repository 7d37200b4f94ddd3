-- The checks of operations. A statement reads the text of each check constraint of every table and partition that it
-- writes to, which was a fifth of the work of a ledger call. One function is compiled once a connection.
create or replace function is_sound_operation(
  operation_id text, kind text, state text, held_diem bigint, held_bundled bigint, held_usd bigint,
  diem bigint, bundled bigint, usd bigint
) returns boolean language plpgsql immutable parallel safe as $$
begin
  if length(operation_id) not between 1 and 200
    or kind not in ('charge', 'refund', 'top_up', 'grant', 'adjustment')
    or state not in ('held', 'settled', 'released', 'expired', 'done') then
    return false;
  end if;
  -- A hold reserves and has moved nothing yet. Any other operation has moved at most its hold.
  if state = 'held' then
    return num_nulls(held_diem, held_bundled, held_usd) = 0 and num_nonnulls(diem, bundled, usd) = 0;
  end if;
  return num_nulls(diem, bundled, usd) = 0
    and (held_usd is null or diem <= held_diem and bundled <= held_bundled and usd <= held_usd);
end $$;
