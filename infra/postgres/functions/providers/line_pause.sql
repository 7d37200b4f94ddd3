-- Pause until a waiting job asks again: half a second for the next job, longer the more jobs wait before it, 30 seconds
-- at most. The whole line then asks about fifty times a second, however long it is. The jitter of 25 % spreads jobs
-- that came together.
create or replace function line_pause(before integer, each_ms float8) returns integer language sql volatile as $$
  select (least(30000, greatest(500, before * greatest(20, each_ms))) * (0.75 + random() / 2))::integer
$$;
