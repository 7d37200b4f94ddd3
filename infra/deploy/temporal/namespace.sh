#!/bin/sh
# Creates the namespace TEMPORAL_NAMESPACE; the container restarts until the server is healthy.
set -eu
temporal operator cluster health --address "$TEMPORAL_ADDRESS"
temporal operator namespace describe --address "$TEMPORAL_ADDRESS" --namespace "$TEMPORAL_NAMESPACE" ||
  temporal operator namespace create --address "$TEMPORAL_ADDRESS" --namespace "$TEMPORAL_NAMESPACE" \
    --retention "$TEMPORAL_RETENTION"
