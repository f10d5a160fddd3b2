-- Replaces or removes the claim to an address. KEYS: email. ARGV: expected
-- value (empty: none), new value (empty: remove).
-- Returns ok, or the value that is there.
local there = redis.call('GET', KEYS[1]) or ''
if there ~= ARGV[1] then
  if ARGV[2] ~= '' and there == ARGV[2] then return 'ok' end
  return there
end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 'ok'
