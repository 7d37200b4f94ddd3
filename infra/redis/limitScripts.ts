/**
 * The sliding windows of domain/limits/slidingWindow.ts inside Redis. A window is a hash: one field per slot, `t` their
 * sum, `o` the oldest slot. A call reads and writes each window once, since a script blocks Redis (bench `front`). Only
 * the clock of Redis counts, so the clocks of processes may differ.
 */
import { SLOTS } from '../../domain/limits/slidingWindow.ts';

/** Shared by both scripts: updates a window and returns its sum, its oldest slot and the count of the present slot. */
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
 * Admits a number of equal calls, one after the other. KEYS: the windows, and last the account's list of refusals.
 * ARGV: per window limit, cost and windowMs; then the entry for that list (empty: none), whose `%s` becomes the
 * refusing window's number and whose `%t` the time; then the number of calls. Returns the time in ms, for each call the
 * number of the refusing window or 0, and per window its sum and its first slot in use. A call counts in all windows or
 * in none.
 */
export const ADMIT = `${CURRENT}
local now, n = clock(), #KEYS - 1
local calls, refusals = tonumber(ARGV[n * 3 + 2]), {}
local limits, costs, slots, befores, totals, oldests, heres = {}, {}, {}, {}, {}, {}, {}
for i = 1, n do
  limits[i], costs[i] = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1])
  slots[i] = math.floor(now / (tonumber(ARGV[i * 3]) / ${SLOTS}))
  befores[i], oldests[i], heres[i] = current(KEYS[i], slots[i])
  totals[i] = befores[i]
end
local answer = { now }
for call = 1, calls do
  local refused = 0
  for i = 1, n do
    local cost = costs[i]
    if cost > limits[i] and totals[i] == 0 and limits[i] > 0 then cost = limits[i] end
    if totals[i] + cost > limits[i] or (cost == 0 and totals[i] >= limits[i]) then
      refused = i
      break
    end
  end
  answer[#answer + 1] = refused
  if refused > 0 then refusals[#refusals + 1] = refused end
  for i = 1, n do
    if refused == 0 then totals[i] = totals[i] + costs[i] end
    answer[#answer + 1] = totals[i]
    answer[#answer + 1] = oldests[i]
  end
end
for i = 1, n do
  local count = totals[i] - befores[i]
  if count > 0 then add(KEYS[i], slots[i], heres[i], count, befores[i], oldests[i], tonumber(ARGV[i * 3])) end
end
if #refusals > 0 and ARGV[n * 3 + 1] ~= '' then
  for _, refused in ipairs(refusals) do
    local entry = string.gsub(string.gsub(ARGV[n * 3 + 1], '%%s', refused), '%%t', now)
    redis.call('LPUSH', KEYS[n + 1], entry)
  end
  redis.call('LTRIM', KEYS[n + 1], 0, 49)
  redis.call('PEXPIRE', KEYS[n + 1], 2592000000)
end
return answer
`;

/** Corrects a window. KEYS: one window. ARGV: count (may be negative), its time in ms or 0 for now, windowMs. */
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
