#!/bin/sh
# Runs once, on an empty data folder. Neither Farebox nor Temporal connects as the superuser.
# Farebox may create roles because its migrations create `farebox_app`, which cannot change past records.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username "${POSTGRES_USER:-postgres}" <<'SQL'
create role farebox login createrole password :'password';
create database farebox owner farebox;
create role temporal login password :'password';
create database temporal owner temporal;
create database temporal_visibility owner temporal;
SQL
