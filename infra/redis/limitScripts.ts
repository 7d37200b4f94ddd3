/**
 * The sliding windows of domain/limits/slidingWindow.ts inside Redis. A window is a hash: one field per slot, `t` their
 * sum, `o` the oldest slot. A call reads and writes each window once: Redis does nothing else meanwhile. Redis' clock is
 * the only one, so processes need not agree on theirs.
 */
import { SLOTS } from '../../domain/limits/slidingWindow.ts';

/** Shared by both scripts: brings a window up to date and returns its sum, its oldest slot and what is in this one. */
const CURRENT = `
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function current(key, slot)
  local state = redis.call('HMGET', key, 't', 'o', slot)
  if not state[1] then return 0, slot, 0 end
  local total, oldest, kept = tonumber(state[1]), tonumber(state[2]), slot - ${SLOTS}
  if oldest >= kept then return total, oldest, tonumber(state[3] or '0') end
  if slot - oldest > ${3 * SLOTS} then
    redis.call('DEL', key)
    return 0, slot, 0
  end
  local passed = {}
  for old = oldest, kept - 1 do passed[#passed + 1] = old end
  for _, count in ipairs(redis.call('HMGET', key, unpack(passed))) do total = total - (count or 0) end
  if total == 0 then
    redis.call('DEL', key)
    return 0, slot, 0
  end
  redis.call('HDEL', key, unpack(passed))
  local first = kept
  while first < slot and redis.call('HEXISTS', key, first) == 0 do first = first + 1 end
  redis.call('HSET', key, 't', total, 'o', first)
  return total, first, tonumber(state[3] or '0')
end
local function add(key, slot, here, count, total, oldest, windowMs)
  redis.call('HSET', key, slot, here + count, 't', total + count, 'o', oldest)
  if here == 0 then redis.call('PEXPIRE', key, windowMs * 2) end
end
`;

/**
 * KEYS: the windows, and last the account's list of refusals. ARGV: per window limit, cost and windowMs; then the entry for
 * that list (empty: none), whose `%s` becomes the refusing window's number and whose `%t` the time.
 * Answers: the number of the refusing window or 0, the time in ms, and per window its sum and its first slot in use.
 * All windows admit, or none counts anything.
 */
export const ADMIT = `${CURRENT}
local now, n = clock(), #KEYS - 1
local totals, oldests, heres, refused = {}, {}, {}, 0
for i = 1, n do
  local limit, cost, windowMs = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  totals[i], oldests[i], heres[i] = current(KEYS[i], math.floor(now / (windowMs / ${SLOTS})))
  if refused == 0 then
    if cost > limit and totals[i] == 0 and limit > 0 then cost = limit end
    if totals[i] + cost > limit or (cost == 0 and totals[i] >= limit) then refused = i end
  end
end
local answer = { refused, now }
for i = 1, n do
  local cost, windowMs = tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  if refused == 0 and cost > 0 then
    local slot = math.floor(now / (windowMs / ${SLOTS}))
    add(KEYS[i], slot, heres[i], cost, totals[i], oldests[i], windowMs)
    totals[i] = totals[i] + cost
  end
  answer[#answer + 1] = totals[i]
  answer[#answer + 1] = oldests[i]
end
if refused > 0 and ARGV[n * 3 + 1] ~= '' then
  local entry = string.gsub(string.gsub(ARGV[n * 3 + 1], '%%s', refused), '%%t', now)
  redis.call('LPUSH', KEYS[n + 1], entry)
  redis.call('LTRIM', KEYS[n + 1], 0, 49)
  redis.call('PEXPIRE', KEYS[n + 1], 2592000000)
end
return answer
`;

/** KEYS: one window. ARGV: count (may be negative), the time it belongs to in ms or 0 for now, windowMs. */
export const CORRECT = `${CURRENT}
local now, windowMs = clock(), tonumber(ARGV[3])
local slotMs = windowMs / ${SLOTS}
local at = tonumber(ARGV[2])
if at == 0 then at = now end
local slot = math.floor(at / slotMs)
local total, oldest = current(KEYS[1], math.floor(now / slotMs))
if slot < math.floor(now / slotMs) - ${SLOTS} then return 0 end
local here = tonumber(redis.call('HGET', KEYS[1], slot) or '0')
local count = math.max(-here, tonumber(ARGV[1]))
if count ~= 0 then add(KEYS[1], slot, here, count, total, math.min(oldest, slot), windowMs) end
return total + count
`;
