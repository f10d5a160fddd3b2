-- Counts an attempt in each bucket, unless one of them has to wait.
-- KEYS: the buckets. ARGV: for each the free attempts, the first and the longest wait, the time after which an attempt is
-- forgotten, and the number above which attempts are not counted; times in milliseconds. Returns how long to wait, or 0.
-- A bucket is a hash: n attempts, of which the oldest is forgotten from s on; u is when the next may be made.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local wait, counts = 0, {}
for i, key in ipairs(KEYS) do
  local c = redis.call('HMGET', key, 'n', 's', 'u')
  counts[i] = {n = tonumber(c[1]) or 0, s = tonumber(c[2]) or now}
  wait = math.max(wait, (tonumber(c[3]) or now) - now)
end
if wait > 0 then return wait end
for i, key in ipairs(KEYS) do
  local at = 5 * (i - 1)
  local free, first, longest, forget, most =
    tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local n, s = counts[i].n, counts[i].s
  local forgotten = math.max(0, math.floor((now - s) / forget))
  if forgotten >= n then n, s = 0, now else n, s = n - forgotten, s + forgotten * forget end
  n = math.min(n + 1, most)
  local pause = 0
  if n >= free then pause = math.min(longest, first * 2 ^ (n - free)) end
  redis.call('HSET', key, 'n', n, 's', string.format('%.0f', s), 'u', string.format('%.0f', now + pause))
  redis.call('PEXPIRE', key, string.format('%.0f', math.max(pause, s + n * forget - now) + 1000))
end
return 0
