#!/bin/sh
# Creates the namespace that TEMPORAL_NAMESPACE names; the container is started again until the server serves.
set -eu
temporal operator cluster health --address "$TEMPORAL_ADDRESS"
temporal operator namespace describe --address "$TEMPORAL_ADDRESS" --namespace "$TEMPORAL_NAMESPACE" ||
  temporal operator namespace create --address "$TEMPORAL_ADDRESS" --namespace "$TEMPORAL_NAMESPACE" \
    --retention "$TEMPORAL_RETENTION"
