-- Up Migration

-- A copy of the characters file, made for searching: the file is the truth, and whoever reads a changed one replaces all.
create table characters (
  slug text collate "C" primary key,
  id uuid not null unique,
  name text not null,
  description text,
  author text not null,
  adult boolean not null,
  featured boolean not null,
  pro boolean not null,
  web_enabled boolean not null,
  model_id text not null,
  tags text[] not null,
  categories text[] not null,
  share_url text,
  photo_url text,
  -- Told to the model, never to a client.
  system_prompt text not null,
  imports bigint not null check (imports >= 0),
  rating_count bigint not null check (rating_count >= 0),
  rating_sum bigint not null check (rating_sum >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Name, description and tags, a line each.
  search_text text not null,
  search_words tsvector generated always as (to_tsvector('simple', search_text)) stored
);
create index characters_search on characters using gin (search_words);

-- One row: the digest of the file that the table was filled from.
create table characters_source (
  only_row boolean primary key default true check (only_row),
  digest text not null
);

-- Down Migration

drop table characters_source;
drop table characters;
