/** Exits 0 when the URL answers 200 within 4 seconds; for images that have no curl. */
import http from 'node:http';

const request = http.get(process.argv[2] ?? '', { timeout: 4_000 }, (answer) => {
  process.exit(answer.statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => process.exit(1));
request.on('error', () => process.exit(1));
