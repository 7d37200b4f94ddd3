#!/bin/sh
# Migrates Temporal's two databases to the schema of this image; does nothing when they have it.
set -eu
schema=/etc/temporal/schema/postgresql/v12
temporal-sql-tool --database temporal setup-schema --version 0.0
temporal-sql-tool --database temporal update-schema --schema-dir "$schema/temporal/versioned"
temporal-sql-tool --database temporal_visibility setup-schema --version 0.0
temporal-sql-tool --database temporal_visibility update-schema --schema-dir "$schema/visibility/versioned"
